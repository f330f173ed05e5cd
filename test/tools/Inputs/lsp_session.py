"""lsp_session.py FOLDER: a session with dlc-lsp, as an editor holds it. Prints what it answers; any
protocol error fails."""
import json
import os
import select
import subprocess
import sys
import time

FOLDER = os.path.abspath(sys.argv[1])
MODEL = """dl 1

dim N = 1..64
const HIDDEN = 32

model Net {
  conv1: Conv2d(1, 8, kernel_size=3, padding=1)
  fc: Linear(8 * 8 * 8, HIDDEN)

  forward(x: f32[N,1,8,8]) -> (y: f32[N,32]) {
    h = relu(conv1(x))  # "é" is one character, "𝕏" two units
    y = fc(flatten(h, start_dim=1))
  }
}
"""


class Session:
    def __init__(self):
        self.process = subprocess.Popen(["dlc-lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.id, self.notes = 0, []

    def send(self, message):
        body = json.dumps(message, ensure_ascii=False).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self, seconds=20):
        header, out = b"", self.process.stdout
        limit = time.time() + seconds
        while not header.endswith(b"\r\n\r\n"):
            if not select.select([out], [], [], max(0, limit - time.time()))[0]:
                sys.exit("FAILED: no answer")
            byte = out.read1(1)
            if not byte:
                sys.exit("FAILED: the server has gone")
            header += byte
        length = int(header.split(b":")[1].split(b"\r\n")[0])
        body = b""
        while len(body) < length:
            body += out.read1(length - len(body))
        return json.loads(body)

    def request(self, method, params):
        self.id += 1
        self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self.id:
                return message
            self.notes.append(message)

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def findings(self, uri):
        """What is published next for the file."""
        while True:
            for at, message in enumerate(self.notes):
                if message["method"] == "textDocument/publishDiagnostics" and message["params"][
                        "uri"] == uri:
                    return self.notes.pop(at)["params"]["diagnostics"]
            self.notes.append(self.receive())


def position(text, part, inside=0):
    offset = text.index(part) + inside
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1:offset]
    return {"line": line, "character": len(before.encode("utf-16-le")) // 2}


session = Session()
uri = "file://" + FOLDER + "/net.dl"
document = {"uri": uri}


def show(title, findings):
    print(title, len(findings))
    for found in findings:
        start, end = found["range"]["start"], found["range"]["end"]
        print(f"  {start['line']}:{start['character']}-{end['line']}:{end['character']} "
              f"{({1: 'error', 2: 'warning'})[found['severity']]}: {found['message']}")
        for related in found.get("relatedInformation", []):
            print(f"    {related['location']['range']['start']['line']}: {related['message']}")


def ask(method, text, part, inside=0):
    return session.request(
        "textDocument/" + method,
        {"textDocument": document, "position": position(text, part, inside)})["result"]


def change(text, version):
    session.notes.clear()
    session.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]})


capabilities = session.request(
    "initialize",
    {"processId": None, "rootUri": None, "capabilities": {}})["result"]["capabilities"]
print("capabilities", " ".join(sorted(capabilities)))
session.notify("initialized", {})

# The file is not on disk: the editor's text stands for it.
session.notify("textDocument/didOpen",
               {"textDocument": {"uri": uri, "languageId": "dl", "version": 1, "text": MODEL}})
show("opened", session.findings(uri))
saved = MODEL + 'weights "net.safetensors"\n'
change(saved, 2)
show("without its weights", session.findings(uri))

bad = MODEL.replace("relu(conv1(x))",
                    "rleu(conv1(x))").replace("const HIDDEN = 32",
                                              "const HIDDEN = 32\nconst HIDDEN = 31")
change(bad, 3)
show("two errors", session.findings(uri))
shifted = MODEL.replace("h = relu(conv1(x))",
                        'h = dropout(relu(conv1(x)), 0.5)\n    u = "𝕏é" + rleu')
change(shifted, 4)
show("behind wide characters", session.findings(uri))

change(MODEL, 5)
session.findings(uri)
for part, inside in (("h, start", 0), ("conv1(x)", 1), ("relu", 2), ("Linear", 0), ("HIDDEN)", 0),
                     ("f32[N,32]", 4), ("start_dim", 1)):
    answer = ask("hover", MODEL, part, inside)
    print("hover", part, json.dumps(answer and answer["contents"]["value"]))
for part, inside in (("h, start", 0), ("conv1(x)", 0), ("HIDDEN)", 3), ("x))", 0), ("relu", 0)):
    answer = ask("definition", MODEL, part, inside)
    print("definition", part,
          [(a["uri"] == uri, a["range"]["start"]["line"], a["range"]["start"]["character"])
           for a in answer])


def completions(text, part, version):
    """Labels, what is meant most probably first, where `part` ends."""
    change(text, version)
    session.findings(uri)
    items = ask("completion", text, part, len(part))["items"]
    return sorted(items, key=lambda item: item["sortText"])


items = completions(MODEL.replace("  fc: Linear(", "  bn: Ba\n  fc: Linear("), "  bn: Ba", 6)
print("layers", [i["label"] for i in items if i["label"].startswith("BatchNorm2")],
      next(i["detail"] for i in items if i["label"] == "BatchNorm2d"))
items = completions(MODEL.replace("kernel_size=3, padding=1", "kernel_size=3, "), "kernel_size=3, ",
                    7)
print("arguments of a layer", [i["label"] for i in items if i["label"].endswith("=")])
items = completions(MODEL.replace("start_dim=1", ""), "flatten(h, ", 8)
print("arguments of a function",
      [(i["label"], i["detail"]) for i in items if i["label"].endswith("=")])
print("values", [i["label"] for i in items if i["kind"] == 6], "layers",
      [i["label"] for i in items if i["kind"] == 5])
items = completions(MODEL.replace("    y = fc", "    z = re\n    y = fc"), "    z = re", 9)
print("functions", [i["label"] for i in items if i["label"].startswith("re")][:2],
      next(i["detail"] for i in items if i["label"] == "relu"))
items = completions(MODEL.replace("f32[N,1,8,8]", "f"), "forward(x: f", 10)
print("dtypes", [i["label"] for i in items])
items = completions("dl 1\n" + "mo", "dl 1\nmo", 11)
print("declarations", [i["label"] for i in items])

# Blocks of another file, which is open and not saved.
blocks = "file://" + FOLDER + "/blocks.dl"
session.notify(
    "textDocument/didOpen", {
        "textDocument": {
            "uri": blocks, "languageId": "dl", "version": 1,
            "text": "dl 1\nblock Head(width, classes=10) {\n  fc: Linear(width, classes)\n  forward(h) -> (y) {\n    y = fc(h)\n  }\n}\n"
        }
    })
session.findings(uri)
show("blocks alone", session.findings(blocks))
split = MODEL.replace("fc: Linear(8 * 8 * 8, HIDDEN)",
                      "fc: Head(512, classes=HIDDEN)").replace("dl 1\n",
                                                               'dl 1\ninclude "blocks.dl"\n')
change(split, 20)
show("with blocks of another file", session.findings(uri))
print("definition Head",
      [(a["uri"] == blocks, a["range"]["start"]["line"], a["range"]["start"]["character"])
       for a in ask("definition", split, "Head(")])
print("definition include", [(a["uri"] == blocks, a["range"]["start"]["line"])
                             for a in ask("definition", split, "blocks.dl")])
print("hover Head", json.dumps(ask("hover", split, "Head(")["contents"]["value"]))
items = completions(split.replace("Head(512, classes=HIDDEN)", "Head("), "Head(", 21)
print("arguments of a block",
      [(i["label"], i["detail"]) for i in items if i["label"].endswith("=")])
items = completions(split.replace("Head(512, classes=HIDDEN)", "He"), "fc: He", 22)
print("blocks", [i["label"] for i in items if i["label"].startswith("He")])
broken = split.replace("classes=HIDDEN", "classes=HIDDEN, lunch=1")
change(broken, 23)
show("misused block", session.findings(uri))
session.notify("textDocument/didClose", {"textDocument": {"uri": blocks}})

change(MODEL, 12)
symbols = session.request("textDocument/documentSymbol", {"textDocument": document})["result"]
print("symbols", [(s["name"], s["detail"]) for s in symbols])
loose = MODEL.replace("conv1: Conv2d(1, 8,", "conv1 :Conv2d( 1,8,")
change(loose, 13)
edits = session.request(
    "textDocument/formatting",
    {"textDocument": document, "options": {"tabSize": 2, "insertSpaces": True}})["result"]
print("formatting restores it", len(edits) == 1 and edits[0]["newText"] == MODEL)

# What a broken client sends.
print("unknown method", session.request("textDocument/lunch", {})["error"]["code"])
print("wrong parameters",
      session.request("textDocument/hover", {"textDocument": 3})["error"]["code"])
print(
    "unknown file",
    session.request(
        "textDocument/hover",
        {"textDocument": {"uri": uri + "x"}, "position": {"line": 0, "character": 0}})["result"])
print(
    "far beyond the end",
    ask("hover", MODEL, "}")["contents"] if ask("hover", MODEL, "}") else None,
    session.request("textDocument/completion",
                    {"textDocument": document, "position": {"line": 10**6, "character": 10**6}
                     })["result"]["isIncomplete"])
session.raw(b"Content-Length: 9\r\n\r\nnot json!")
session.notify(
    "textDocument/didChange",
    {"textDocument": {"uri": uri + "x", "version": 1}, "contentChanges": [{"text": "?"}]})
for junk in ("", "\x00", "dl 1\nmodel M {", "(" * 20000,
             "dl 1\nmodel M{forward(x:f32[4])->(y:f32[4]){y=" + "-" * 300 + "x}}",
             "é" * 1000 + "\"", "}" * 100):
    change(junk, 14)
    if not session.findings(uri):
        print("FAILED: no finding in", junk[:20])
    for line, character in ((0, 0), (0, 3), (1, 7), (0, 10**9)):
        for method in ("hover", "definition", "completion"):
            session.request(
                "textDocument/" + method,
                {"textDocument": document, "position": {"line": line, "character": character}})
print("junk survived")
session.notify("textDocument/didClose", {"textDocument": document})
session.notes.clear()
show("closed", session.findings(uri))
print("shutdown", session.request("shutdown", None)["result"])
session.notify("exit", None)
print("exit status", session.process.wait(10))

impatient = Session()
impatient.notify("exit", None)
print("exit without shutdown", impatient.process.wait(10))
