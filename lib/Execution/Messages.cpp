//===- Messages.cpp - Diagnostics of a tool -------------------------------===//
//
// Part of the DSV4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dsv4/Execution/Messages.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::dsv4;

/// The first place in a file that a location knows.
static FileLineColLoc findPlace(Location location) {
  FileLineColLoc place;
  location->walk([&](Location inner) {
    place = dyn_cast<FileLineColLoc>(inner);
    return place ? WalkResult::interrupt() : WalkResult::advance();
  });
  return place;
}

static void printSeverity(DiagnosticSeverity severity, llvm::raw_ostream &os) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    llvm::WithColor::note(os);
    break;
  case DiagnosticSeverity::Warning:
    llvm::WithColor::warning(os);
    break;
  case DiagnosticSeverity::Error:
    llvm::WithColor::error(os);
    break;
  case DiagnosticSeverity::Remark:
    llvm::WithColor::remark(os);
    break;
  }
}

void dsv4::printDiagnostic(const Diagnostic &diagnostic,
                           llvm::raw_ostream &os) {
  if (FileLineColLoc place = findPlace(diagnostic.getLocation()))
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn() << ": ";
  printSeverity(diagnostic.getSeverity(), os);
  os << diagnostic << "\n";
  for (const Diagnostic &note : diagnostic.getNotes())
    printDiagnostic(note, os);
}
