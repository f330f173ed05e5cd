"""The files that a lint reads: those that git tracks, or a planted handful for its self-test."""
import os
import subprocess

CODE = (".cpp", ".h", ".hpp", ".td", ".cuh", ".c")


class Tree:
    """Paths relative to the root, with forward slashes, and their text."""

    def __init__(self, root, paths):
        self.root = root
        self.paths = sorted(paths)

    @classmethod
    def tracked(cls, root):
        """Tracked files, and new ones that git does not ignore; outside a git checkout, every file.
        """
        try:
            listed = subprocess.run(
                ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=root, capture_output=True, check=True, text=True).stdout.split("\0")
        except (OSError, subprocess.CalledProcessError):
            listed = [
                os.path.relpath(os.path.join(folder, name), root)
                for folder, folders, names in os.walk(root) for name in names
                if not os.path.relpath(folder, root).startswith((".git", "build"))
            ]
        return cls(root, [p for p in listed if p and os.path.isfile(os.path.join(root, p))])

    @classmethod
    def planted(cls, root, files):
        """Writes `files` (path -> text) under the empty folder `root`."""
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as out:
                out.write(text)
        return cls(root, list(files))

    def full(self, path):
        return os.path.join(self.root, path)

    def text(self, path):
        """The file's text, or None for a binary file."""
        with open(self.full(path), "rb") as source:
            data = source.read()
        if b"\0" in data:
            return None
        return data.decode("utf-8", errors="replace")

    def code(self, suffixes=CODE):
        return [p for p in self.paths if p.endswith(suffixes)]
