// Package assess holds the arithmetic and the logic of a UK GDPR breach
// assessment: severity, clocks, exposure states, proposed answers and the lists
// to pick from. It proposes and shows its working; a named person decides.
//
// All of it is values and pure functions: no file, no network, no clock.
package assess
