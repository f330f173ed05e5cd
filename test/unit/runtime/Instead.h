//===- Instead.h - A function of a driver or compiler that a test replaces --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_RUNTIME_INSTEAD_H
#define DLC_TEST_UNIT_RUNTIME_INSTEAD_H

namespace dlc::test {

/// Another function in the place of one of a library's, while it lives.
template <class Table, class Function> class Instead {
public:
  Instead(const Table *table, Function *Table::*member, Function *other)
      : place(const_cast<Table *>(table)->*member), original(place) {
    place = other;
  }
  ~Instead() { place = original; }
  Instead(const Instead &) = delete;

private:
  Function *&place;
  Function *original;
};

} // namespace dlc::test

#endif // DLC_TEST_UNIT_RUNTIME_INSTEAD_H
