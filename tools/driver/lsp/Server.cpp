//===- Server.cpp - dlc as a language server ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/lsp/Server.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/lsp/Completion.h"
#include "tools/driver/lsp/Document.h"
#include "tools/driver/lsp/TextPositions.h"

#include "llvm/Support/LSP/Transport.h"

#include <memory>

namespace lsp = llvm::lsp;
using llvm::StringRef;

namespace dlc {
namespace {

class Server {
public:
  Server(lsp::JSONTransport &transport, lsp::MessageHandler &messages);
  bool wasShutDown() const { return isShutDown; }

private:
  using Position = lsp::TextDocumentPositionParams;

  void initialize(const lsp::InitializeParams &, lsp::Callback<llvm::json::Value> reply);
  void initialized(const lsp::NoParams &) {}
  void shutdown(const lsp::NoParams &, lsp::Callback<std::nullptr_t> reply);
  void open(const lsp::DidOpenTextDocumentParams &params);
  void change(const lsp::DidChangeTextDocumentParams &params);
  void close(const lsp::DidCloseTextDocumentParams &params);
  void hover(const Position &params, lsp::Callback<std::optional<lsp::Hover>> reply);
  void definition(const Position &params, lsp::Callback<std::vector<lsp::Location>> reply);
  void completion(const lsp::CompletionParams &params, lsp::Callback<lsp::CompletionList> reply);
  void symbols(const lsp::DocumentSymbolParams &params,
               lsp::Callback<std::vector<lsp::DocumentSymbol>> reply);
  void format(const lsp::DocumentSymbolParams &params,
              lsp::Callback<std::vector<lsp::TextEdit>> reply);

  Document *find(StringRef path);
  StringRef textOf(const Document &document) { return texts[document.getUri().file()]; }
  void publish(Document &document);
  void publishFor(const std::string &file, std::vector<lsp::Diagnostic> found, int64_t version);
  /// A file may include the one that has changed: all that are open are read again.
  void publishAll();

  lsp::OutgoingNotification<lsp::PublishDiagnosticsParams> publishDiagnostics;
  OpenTexts texts;
  llvm::StringMap<std::unique_ptr<Document>> documents; // by path
  bool isShutDown = false;
};

} // namespace

Server::Server(lsp::JSONTransport &, lsp::MessageHandler &messages)
    : publishDiagnostics(messages.outgoingNotification<lsp::PublishDiagnosticsParams>(
          "textDocument/publishDiagnostics")) {
  messages.method("initialize", this, &Server::initialize);
  messages.notification("initialized", this, &Server::initialized);
  messages.method("shutdown", this, &Server::shutdown);
  messages.notification("textDocument/didOpen", this, &Server::open);
  messages.notification("textDocument/didChange", this, &Server::change);
  messages.notification("textDocument/didClose", this, &Server::close);
  messages.method("textDocument/hover", this, &Server::hover);
  messages.method("textDocument/definition", this, &Server::definition);
  messages.method("textDocument/completion", this, &Server::completion);
  messages.method("textDocument/documentSymbol", this, &Server::symbols);
  messages.method("textDocument/formatting", this, &Server::format);
}

void Server::initialize(const lsp::InitializeParams &, lsp::Callback<llvm::json::Value> reply) {
  using llvm::json::Object;
  // Full texts: ranges would count UTF-16 units of a text that the library edits in bytes.
  reply(Object{{"serverInfo", Object{{"name", "dlc-lsp"}, {"version", DLC_VERSION}}},
               {"capabilities",
                Object{{"textDocumentSync",
                        Object{{"openClose", true},
                               {"change", static_cast<int>(lsp::TextDocumentSyncKind::Full)}}},
                       {"hoverProvider", true},
                       {"definitionProvider", true},
                       {"documentSymbolProvider", true},
                       {"documentFormattingProvider", true},
                       {"completionProvider",
                        Object{{"resolveProvider", false},
                               {"triggerCharacters", llvm::json::Array{":", "(", ",", "@"}}}}}}});
}

void Server::shutdown(const lsp::NoParams &, lsp::Callback<std::nullptr_t> reply) {
  isShutDown = true;
  reply(nullptr);
}

//===- Documents ------------------------------------------------------------------------------===//

Document *Server::find(StringRef path) {
  auto found = documents.find(path);
  return found == documents.end() ? nullptr : found->second.get();
}

void Server::publishFor(const std::string &file, std::vector<lsp::Diagnostic> found,
                        int64_t version) {
  auto uri = lsp::URIForFile::fromFile(file);
  if (!uri) {
    llvm::consumeError(uri.takeError());
    return;
  }
  lsp::PublishDiagnosticsParams params(*uri, version);
  params.diagnostics = std::move(found);
  publishDiagnostics(params);
}

void Server::publish(Document &document) {
  std::string own = document.getUri().file().str();
  Document::Findings findings = document.analyze(texts);
  std::vector<std::string> others;
  for (auto &[file, found] : findings) {
    if (file == own)
      publishFor(file, std::move(found), document.version);
    else if (!find(file)) { // an open one reports for itself
      publishFor(file, std::move(found), 0);
      others.push_back(file);
    }
  }
  for (const std::string &file : document.reportedFiles)
    if (!findings.count(file) && !find(file))
      publishFor(file, {}, 0);
  document.reportedFiles = std::move(others);
}

void Server::publishAll() {
  for (auto &entry : documents)
    publish(*entry.second);
}

void Server::open(const lsp::DidOpenTextDocumentParams &params) {
  const lsp::TextDocumentItem &item = params.textDocument;
  StringRef path = item.uri.file();
  texts[path] = item.text;
  documents[path] = std::make_unique<Document>(item.uri, item.version);
  publishAll();
}

void Server::change(const lsp::DidChangeTextDocumentParams &params) {
  Document *document = find(params.textDocument.uri.file());
  if (!document || params.contentChanges.empty())
    return;
  texts[document->getUri().file()] = params.contentChanges.back().text;
  document->version = params.textDocument.version;
  publishAll();
}

void Server::close(const lsp::DidCloseTextDocumentParams &params) {
  std::string path = params.textDocument.uri.file().str();
  Document *document = find(path);
  if (!document)
    return;
  for (const std::string &file : document->reportedFiles)
    publishFor(file, {}, 0);
  publishFor(path, {}, document->version);
  documents.erase(path);
  texts.erase(path);
  publishAll();
}

//===- Requests -------------------------------------------------------------------------------===//

void Server::hover(const Position &params, lsp::Callback<std::optional<lsp::Hover>> reply) {
  Document *document = find(params.textDocument.uri.file());
  reply(document ? document->hover(textOf(*document), params.position) : std::nullopt);
}

void Server::definition(const Position &params, lsp::Callback<std::vector<lsp::Location>> reply) {
  Document *document = find(params.textDocument.uri.file());
  reply(document ? document->definition(texts, params.position) : std::vector<lsp::Location>());
}

void Server::completion(const lsp::CompletionParams &params,
                        lsp::Callback<lsp::CompletionList> reply) {
  Document *document = find(params.textDocument.uri.file());
  if (!document)
    return reply(lsp::CompletionList());
  StringRef text = textOf(*document);
  reply(complete(text, TextPositions(text).offsetOf(params.position), document->getIndex()));
}

void Server::symbols(const lsp::DocumentSymbolParams &params,
                     lsp::Callback<std::vector<lsp::DocumentSymbol>> reply) {
  Document *document = find(params.textDocument.uri.file());
  reply(document ? document->symbols(textOf(*document)) : std::vector<lsp::DocumentSymbol>());
}

void Server::format(const lsp::DocumentSymbolParams &params,
                    lsp::Callback<std::vector<lsp::TextEdit>> reply) {
  Document *document = find(params.textDocument.uri.file());
  reply(document ? document->format(textOf(*document)) : std::vector<lsp::TextEdit>());
}

static constexpr const char *kUsageText =
    R"(dlc-lsp: a language server for .dl models, spoken on standard input and output; editors start it.

It gives diagnostics (those of `dlc check`), shapes and dtypes under the cursor, completion of layers, functions and
arguments, go to definition, outline, and formatting (that of `dlc fmt`). tools/editors/README.md says how to use it in VS Code
and Neovim.
)";

int runLanguageServer(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    if (StringRef(argv[i]) == "--help")
      return finishOutput(kUsageText);
    if (StringRef(argv[i]) == "--version")
      return finishOutput("dlc-lsp " DLC_VERSION "\n");
    if (StringRef(argv[i]) != "--stdio") // what some editors pass
      return fail(kUsage, std::string("unknown argument '") + argv[i] + "'; see dlc-lsp --help");
  }
  lsp::JSONTransport transport(stdin, llvm::outs());
  lsp::MessageHandler messages(transport);
  Server server(transport, messages);
  if (llvm::Error error = transport.run(messages))
    return fail(kDevice, llvm::toString(std::move(error)));
  return server.wasShutDown() ? kOk : kModelError;
}

} // namespace dlc
