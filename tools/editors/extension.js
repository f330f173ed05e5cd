// Starts dlc-lsp for .dl files in VS Code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("dl").get("server");
  client = new LanguageClient("dl", "dlc-lsp", { command }, { documentSelector: [{ language: "dl" }] });
  return client.start();
};

exports.deactivate = () => client && client.stop();
