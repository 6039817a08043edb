// Package shell is the program: its commands. Package query answers statements, and package print prints answers.
//
// [Main] runs a command line.
//
// # Files of decisions
//
// The command export writes the history, an entry a row: seq, step, time, id, decision, from, to, who, why, run, score,
// undoes, disputed and in_force. An entry whose decision is undo takes back the entry with the seq in undoes. The
// command import reads such files, .jsonl or a table, and any other file with ids and right labels. The column id and
// one of label, to and decision are necessary. Only the last entry about a node counts, and an undone entry does not
// count. import compares the remaining entries with the store:
//
//	the store has the decision    The entry is left out. accept, reject and relabel to the same label are the same decision.
//	the entry is older            The entry is left out: the store has a later decision about the node.
//	the label is another          The entry is left out: from or original_label is not the label in the store.
//	else                          The entry becomes a decision. unsure, unlabel and relabel stay. Any other entry is accept
//	                              if its label is the suggestion, reject if its label is that in the store, else relabel.
//
// Entries of one step stay one step. They keep who, why and time, even if the store has later entries. import refuses a file
// with a time more than five minutes ahead of the clock. All decisions of a file are written at once.
//
// # Exit codes
//
// The program, and [Main], end with 0 when all is done, with 1 when something failed, with 2 when the command line is
// wrong, with 3 when gate does not let a store pass, and with 130 when Ctrl-C, SIGTERM or SIGHUP interrupted a command. A
// command is interrupted wherever it waits: for input, for the other end of a pipe, for an answer. At the prompt, SIGTERM and
// SIGHUP end the session; Ctrl-C does not. A second signal kills the process.
//
// A standard output that is closed before the program starts, as by >&- in a shell, counts as /dev/null: the output is lost,
// and the exit code is 0.
package shell
