// Package query answers statements about a store: it lists suspects and nodes, explains scores, takes decisions and
// runs clean. It reads one statement in one snapshot of the store. It knows no terminal, no flag and no file format.
//
// A program imports this package to ask and to decide. [Query] answers a statement from a snapshot:
//
//	found, err := query.Query(ctx, tx, query.Options{},
//		"suspects where score > $1 and label = $2 return id, suggested", 0.5, "Theory")
//	if err != nil {
//		return err
//	}
//	for row, err := range found.Rows() {
//		if err != nil {
//			return err
//		}
//		fmt.Println(row[0], row[1])
//	}
//
// [Exec] runs a statement that writes. Query refuses it. [Options] say who decides, how much memory a statement may
// use, and who confirms a decision on many nodes.
//
// A prompt cuts a file into statements with a [Script]. A printer follows the [Layout] of a [Result]. [Manual] explains
// every statement, and [Conditions] the conditions.
//
// # Decisions
//
// A decision is about the nodes in the snapshot that the statement has read. If the label, suggestion, decision or run
// of one node has changed before the write, or whether it is disputed, the statement decides nothing. The error has the
// number of changed nodes and names the first ten. A statement of any size is one step: all of it is on disk, or
// nothing, and one undo takes it back.
//
// A condition after "if" must be true of each node that the statement names. Otherwise nothing is decided, and the
// error names the nodes. So a program that showed a label and a suggestion to a person decides only about them:
//
//	accept $1 if label = $2 and suggested = $3
//
// # Words
//
// The comments of the methods of the parser have the grammar in EBNF, and [Manual] the forms of all statements. Clauses
// stand once at most, in any order. $1 is an argument from Go; it may stand for a number, a text, a class or an id.
//
// In a decision, the word "where" begins the condition. A node with the id "where" needs quotes. So do, after history,
// the words that begin its clauses. The word "all" is a keyword only before "where"; elsewhere it is an id.
//
// Keywords may be written in upper or lower case; as names of properties they need double quotes.
//
// # Values
//
// [Conditions] says how values compare. A label that is true or false may be written without quotes, and one that looks
// like a number too, except after <, <=, > and >=. If not all ids are integers, id >= 100 is an error. A comparison
// with a property that has no value is not true, and neither is its negation. In a pattern of like, \ makes the next
// character stand for itself. A time that is compared with a property of texts takes the form
// that its times have.
//
// Of share(label, 2), edges lead in both directions, each node counts once, and the node itself does not count. It is
// null if the node has no label, or no labelled node is near. Only nodes that the rest of a condition leaves are asked
// about; each takes a walk over its neighbourhood.
//
// Conditions on neighbors know the properties of the neighbours, and hop and the columns of the edges, which hide
// properties of the same name. Conditions on the history know its columns alone. Times of the history are compared to
// the microsecond.
//
// Rows that are equal in an order keep the order of the nodes file. Rows without a value come last. Groups have the
// columns of "group by", then count, then the totals; equal ones are ordered by their values. A total of no values is
// null. avg and sum are those of the exact numbers, rounded once.
//
// A condition has up to 200 levels of brackets and not, and up to 10,000 parts. A list in (…) is one part, whatever its
// length.
package query
