// Package kvforensics only explains the source tree; the program is in
// cmd/kvforensics.
//
// The pipeline, in the order of the data:
//
//	ingest    finds and reads evidence, accounts for every byte
//	rules     the signs by which a request becomes a suspect
//
// beside it:
//
//	queries   all SQL: the case's migrations, derivation steps, named queries
//	samples   synthetic incidents
//
// and under internal:
//
//	evidence   the nouns that all share
//	incident   incident.yaml
//	measure    pools and the envelope of time to first token
//	casestore  the case; the only door to DuckDB
//	pipeline   the order of the stages
//	sim        the simulator behind the samples
//	output     tables, CSV, JSON Lines, Parquet, Arrow for people and programs
//	cli        the command line
//
// ARCHITECTURE.md walks one log line through these rooms.
package kvforensics
