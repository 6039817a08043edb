// Package print writes a Result of package query in a format: for reading, such as a table, or for programs, such as
// csv. It knows no command, and no store.
//
// [Render] prints to a stream that leads to a [Screen]. [Format] lists the formats.
//
// Table, for reading, rounds floats to six digits and shows control characters as escapes. In a file or a pipe,
// columns are at most 64 characters wide. A wider value is not cut; its line gets longer. If the table is too wide for
// a terminal, the widest columns of text are narrowed and their values are cut. Ids and numbers are never cut. csv,
// tsv, json and jsonl are for programs: floats in full, one header line, no row counts. tsv is csv with tabs, and has
// no escapes. In a file or a pipe csv, tsv and json are exact; on a terminal all formats show control characters as
// escapes. JSON is an array of objects, or one object for node, explain, noise, stats and clean; NaN and the infinities
// are null. Answers are written while they are found.
//
// Parquet is in columns, for programs. Texts are UTF-8, and numbers are 64-bit integers or floats. What a store has no
// value for is null. A column whose values are of several kinds is text. Rows are written in groups of a few MiB, so
// that an answer of any length takes little memory. The bytes do not depend on the budget.
package print
