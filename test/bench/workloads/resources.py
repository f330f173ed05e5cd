"""What the machine code of a kernel takes: registers, memory beyond them, instructions. It is read
of the cubins in a model.bin, which are ELF files (NVIDIA's cubins have a section .text.NAME for
each kernel, and say in .nv.info how many registers it has)."""
import struct
from typing import NamedTuple

ELF, CUDA = b"\x7fELF", 190  # e_machine
# Attributes of .nv.info, and the format of those with a length
REGISTERS, FRAME, VALUE = 0x2f, 0x11, 4
INSTRUCTION = 16  # bytes


class Resources(NamedTuple):
    registers: int
    stack: int         # bytes of each thread
    instructions: int  # of the text


class Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


def text_at(data, offset):
    return data[offset:data.index(b"\0", offset)].decode()


def attributes_of(data):
    """(attribute, symbol, value) of .nv.info where it tells one number of a function."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == VALUE:
            if size == 8:
                yield attribute, *struct.unpack_from("<II", data, at)
            at += size


def resources_of_cubin(data):
    """name -> Resources of each kernel."""
    table, = struct.unpack_from("<Q", data, 40)
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [
        Section(*struct.unpack_from("<IIQQQQIIQQ", data, table + i * entry)) for i in range(count)
    ]
    title = lambda section: text_at(data, sections[names].offset + section.name)
    by_name = {title(section): section for section in sections}
    symbols = by_name[".symtab"]
    strings = sections[symbols.link].offset
    symbol = lambda index: text_at(
        data, strings + struct.unpack_from("<I", data, symbols.offset + index * symbols.entry)[0])
    info = by_name[".nv.info"]
    told = {(attribute, symbol(index)): value
            for attribute, index, value in attributes_of(data[info.offset:info.offset + info.size])}
    found = {}
    for name, section in by_name.items():
        if name.startswith(".text."):
            kernel = name[len(".text."):]
            found[kernel] = Resources(told[REGISTERS, kernel], told.get((FRAME, kernel), 0),
                                      section.size // INSTRUCTION)
    return found


def resources_of(package):
    """name -> Resources of each kernel in the file, whose cubins are for one architecture."""
    with open(package, "rb") as file:
        data = file.read()
    found, at = {}, data.find(ELF)
    while at >= 0:
        machine, = struct.unpack_from("<H", data, at + 18)
        if machine == CUDA:
            found |= resources_of_cubin(data[at:])
        at = data.find(ELF, at + len(ELF))
    return found
