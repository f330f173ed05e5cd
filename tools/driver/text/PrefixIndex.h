//===- PrefixIndex.h - Which of many texts begin at a place -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TEXT_PREFIXINDEX_H
#define DLC_TOOLS_DRIVER_TEXT_PREFIXINDEX_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlc::text {

/// Texts in order, each with a number; of equal texts the one of the largest number counts.
class PrefixIndex {
public:
  void add(std::string text, int64_t number) { entries.emplace_back(std::move(text), number); }
  /// To be called after the last add().
  void sort() {
    std::sort(entries.begin(), entries.end());
    size_t kept = 0;
    for (Entry &entry : entries) {
      size_t place = kept > 0 && entries[kept - 1].first == entry.first ? kept - 1 : kept++;
      if (&entries[place] != &entry)
        entries[place] = std::move(entry);
    }
    entries.resize(kept);
  }
  bool isEmpty() const { return entries.empty(); }

  /// Calls visit(size, number) for each text that `text` begins with, from the shortest on; the
  /// empty one is none.
  template <typename Visit> void forEachPrefix(std::string_view text, Visit visit) const {
    size_t low = 0, high = entries.size();
    for (size_t depth = 0; depth < text.size() && low < high; ++depth) {
      // Those in [low, high) agree with `text` up to `depth`; those that end there come first.
      auto byte = static_cast<unsigned char>(text[depth]);
      auto at = [&](const Entry &entry) {
        return entry.first.size() <= depth ? -1 : static_cast<unsigned char>(entry.first[depth]);
      };
      auto begin = entries.begin();
      low = std::partition_point(begin + low, begin + high,
                                 [&](const Entry &entry) { return at(entry) < byte; }) -
            begin;
      high = std::partition_point(begin + low, begin + high,
                                  [&](const Entry &entry) { return at(entry) <= byte; }) -
             begin;
      if (low < high && entries[low].first.size() == depth + 1)
        visit(depth + 1, entries[low].second);
    }
  }

private:
  using Entry = std::pair<std::string, int64_t>;
  std::vector<Entry> entries;
};

} // namespace dlc::text

#endif // DLC_TOOLS_DRIVER_TEXT_PREFIXINDEX_H
