//===- FlatImage.cpp - An ELF object laid out as position-independent bytes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM emits an ELF object, and the runtime has no linker, so the compiler links it: it places the
// sections one after another and turns calls and constant reads into offsets within the image.
// Calls of memcpy and memset go to 16-byte entries, each a jump through the slot that follows it.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/image/FlatImage.h"

#include "runtime/schema/KernelAbi.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace llvm;

namespace dlc::codegen {

namespace {

using Elf = object::ELFFile<object::ELF64LE>;
using Section = object::ELF64LE::Shdr;
using Symbol = object::ELF64LE::Sym;

constexpr uint64_t kStubBytes = 16, kSlotInStub = 8;

Error refuse(const Twine &what) { return createStringError(inconvertibleErrorCode(), what); }

class Layout {
public:
  static Expected<FlatImage> of(const Elf &elf) {
    Layout layout(elf);
    if (Error error = layout.run())
      return std::move(error);
    return std::move(layout.image);
  }

private:
  explicit Layout(const Elf &elf) : elf(elf) {}
  Error run();
  Error placeSections();
  Error placeStubs();
  Error relocate(const Section &relocations);
  /// The function that holds `offset` of section `index`, for messages.
  std::string functionAt(unsigned index, uint64_t offset) const;
  std::string nameOf(const Symbol &symbol) const {
    Expected<StringRef> name = symbol.getName(strings);
    if (name)
      return name->str();
    consumeError(name.takeError());
    return "?";
  }

  const Elf &elf;
  FlatImage image;
  ArrayRef<Section> sections;
  ArrayRef<Symbol> symbols;
  StringRef strings;
  DenseMap<unsigned, uint64_t> sectionOffset; // by section index
  DenseMap<unsigned, uint64_t> stubOffset;    // by symbol index
};

Error Layout::run() {
  auto table = elf.sections();
  if (!table)
    return table.takeError();
  sections = *table;
  for (const Section &section : sections) {
    if (section.sh_type != ELF::SHT_SYMTAB)
      continue;
    auto found = elf.symbols(&section);
    if (!found)
      return found.takeError();
    symbols = *found;
    auto names = elf.getStringTableForSymtab(section);
    if (!names)
      return names.takeError();
    strings = *names;
  }
  if (Error error = placeSections())
    return error;
  if (Error error = placeStubs())
    return error;
  for (const Section &section : sections)
    if (section.sh_type == ELF::SHT_RELA && sectionOffset.count(section.sh_info))
      if (Error error = relocate(section))
        return error;
  for (const Symbol &symbol : symbols)
    if (symbol.getType() == ELF::STT_FUNC && symbol.getBinding() == ELF::STB_GLOBAL &&
        sectionOffset.count(symbol.st_shndx))
      image.entries[nameOf(symbol)] = sectionOffset.lookup(symbol.st_shndx) + symbol.st_value;
  return Error::success();
}

Error Layout::placeSections() {
  for (auto [index, section] : enumerate(sections)) {
    if (!(section.sh_flags & ELF::SHF_ALLOC) || section.sh_size == 0)
      continue;
    auto name = elf.getSectionName(section);
    if (!name)
      return name.takeError();
    // Unwind tables serve exceptions and debuggers; kernels have neither.
    if (*name == ".eh_frame")
      continue;
    if (section.sh_flags & ELF::SHF_WRITE)
      return refuse("the code has writable data in section '" + *name + "'");
    if (section.sh_type != ELF::SHT_PROGBITS)
      return refuse("the code has section '" + *name + "' of type " + Twine(section.sh_type));
    auto contents = elf.getSectionContents(section);
    if (!contents)
      return contents.takeError();
    image.bytes.resize(alignTo(image.bytes.size(), std::max<uint64_t>(section.sh_addralign, 1)));
    sectionOffset[index] = image.bytes.size();
    llvm::append_range(image.bytes, *contents);
  }
  return Error::success();
}

Error Layout::placeStubs() {
  for (auto [index, symbol] : enumerate(symbols)) {
    if (symbol.st_shndx != ELF::SHN_UNDEF || symbol.st_name == 0)
      continue;
    std::string name = nameOf(symbol);
    // Who uses it is found by its relocations, so that the message can name the kernel.
    if (!is_contained(abi::kCpuImports, name))
      continue;
    image.bytes.resize(alignTo(image.bytes.size(), kStubBytes));
    stubOffset[index] = image.bytes.size();
    image.imports[name] = image.bytes.size() + kSlotInStub;
    const uint8_t jump[kStubBytes] = {0xff, 0x25, 2, 0, 0, 0}; // jmp *2(%rip): the slot
    image.bytes.insert(image.bytes.end(), std::begin(jump), std::end(jump));
  }
  return Error::success();
}

Error Layout::relocate(const Section &relocations) {
  auto entries = elf.relas(relocations);
  if (!entries)
    return entries.takeError();
  uint64_t base = sectionOffset.lookup(relocations.sh_info);
  for (const auto &entry : *entries) {
    unsigned index = entry.getSymbol(/*isMips64EL=*/false), type = entry.getType(false);
    const Symbol &symbol = symbols[index];
    // Sought for messages alone: an image may have as many kernels as relocations.
    auto user = [&] { return functionAt(relocations.sh_info, entry.r_offset); };
    uint64_t target;
    if (auto stub = stubOffset.find(index); stub != stubOffset.end())
      target = stub->second;
    else if (symbol.st_shndx == ELF::SHN_UNDEF)
      return refuse("kernel '" + user() + "' needs the function '" + nameOf(symbol) +
                    "', which kernels cannot call: only memcpy and memset may be imported; this is "
                    "a bug in dlc's lowering");
    else if (auto section = sectionOffset.find(symbol.st_shndx); section != sectionOffset.end())
      target = section->second + symbol.st_value;
    else
      return refuse("kernel '" + user() + "' refers to '" + nameOf(symbol) +
                    "' in a section that is not loaded");
    if (type != ELF::R_X86_64_PC32 && type != ELF::R_X86_64_PLT32)
      return refuse("kernel '" + user() + "' has a relocation of type " +
                    object::getELFRelocationTypeName(ELF::EM_X86_64, type) + " against '" +
                    nameOf(symbol) +
                    "'; only PC32 and PLT32 are position-independent in a flat image");
    uint64_t place = base + entry.r_offset;
    int64_t distance = static_cast<int64_t>(target) + entry.r_addend - static_cast<int64_t>(place);
    if (!isInt<32>(distance) || place + 4 > image.bytes.size())
      return refuse("kernel '" + user() + "' has a relocation out of range");
    support::endian::write32le(&image.bytes[place], static_cast<uint32_t>(distance));
  }
  return Error::success();
}

std::string Layout::functionAt(unsigned index, uint64_t offset) const {
  for (const Symbol &symbol : symbols)
    if (symbol.getType() == ELF::STT_FUNC && symbol.st_shndx == index &&
        symbol.st_value <= offset && offset < symbol.st_value + symbol.st_size)
      return nameOf(symbol);
  return "?";
}

} // namespace

Expected<FlatImage> makeFlatImage(ArrayRef<uint8_t> object) {
  auto elf = Elf::create(toStringRef(object));
  if (!elf)
    return elf.takeError();
  if (elf->getHeader().e_type != ELF::ET_REL || elf->getHeader().e_machine != ELF::EM_X86_64)
    return refuse("expected a relocatable x86-64 object");
  return Layout::of(*elf);
}

} // namespace dlc::codegen
