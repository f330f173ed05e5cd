// RUN: dlc-opt %s --split-input-file --verify-diagnostics
// What the verifier of dlk.call asks for.

// expected-error@+1 {{has 1 bodies and roles for 0}}
"dlk.call"() <{callee = "f", header = "h.cuh", type = f32, config = {}, roles = []}> ({
  "dlk.give"() : () -> ()
}) : () -> ()

// -----

// expected-error@+1 {{needs a name for each of the 1 arguments of body 0}}
"dlk.call"() <{callee = "f", header = "h.cuh", type = f32, config = {}, roles = [["m", "k"]]}> ({
^bb0(%m: index):
  "dlk.give"() : () -> ()
}) : () -> ()

// -----

// expected-error@+1 {{has 'stages', which is no integer}}
"dlk.call"() <{callee = "f", header = "h.cuh", type = f32, config = {stages = "three"}, roles = []}> : () -> ()

// -----

// expected-error@+1 {{needs bodies that end in dlk.give}}
"dlk.call"() <{callee = "f", header = "h.cuh", type = f32, config = {}, roles = [[]]}> ({
  "dl.yield"() : () -> ()
}) : () -> ()
