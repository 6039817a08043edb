// Package query answers statements about a store: it lists suspects and nodes, explains scores, takes decisions and runs clean.
// It reads one statement in one snapshot of the store. It knows no terminal, no flag and no file format.
//
// A program imports this package to ask. [Query] answers one statement with an iterator of rows:
//
//	found, err := query.Query(ctx, store, "suspects where score > $1 and label = $2", 0.97, "Theory")
//	if err != nil {
//		return err
//	}
//	for row, err := range found.Rows() {
//		if err != nil {
//			return err
//		}
//		fmt.Println(row.Text("id"), row.Text("suggested"), row.Float("score"))
//	}
//
// An [Engine] answers in the same way, and has options: who decides, how much memory a statement may use, whether statements may
// write, and who confirms a decision on many nodes. A [Script] cuts a file into statements. A prompt paints [Pieces], and offers
// what [Engine.Complete] finds. A printer follows the [Layout] of a [Result].
//
// [Query] runs every statement, also those that write. Set ReadOnly in an Engine, or open the store for reading only, to refuse them.
//
// # Statements
//
//	suspects    nodes whose label is probably wrong, highest score first
//	nodes       list nodes
//	count       count suspects or nodes, in groups if asked
//	node        everything stored about one node
//	neighbors   the nodes around a node, nearest first; of its own neighbours direction and weight, where there are any
//	explain     why a node has its score
//	classes     the classes, with their share, homophily and suspects
//	noise       which classes are given in place of which
//	runs        every run of clean
//	stats       the size of the store and what it holds
//	clean       score every labelled node and suggest labels
//	plan        how a query is answered: what was expected, what there is, and what was read for it
//
// A suspect is what cleaner.Suspects says: a node that scores above the threshold of the last run, whose suggested label
// is not its own, and that nobody has decided on. Two parts of that give way to a condition. One that speaks of score
// takes the place of the threshold, and one that speaks of decision lists decided nodes too. Each alternative of or
// counts by itself, wherever it stands:
//
//	suspects where score > 0.5                    all above 0.5
//	suspects where label = 'A' or score > 0.5     nodes of A above the threshold, and all above 0.5
//	suspects where decision = 'unsure'            above the threshold, and put aside
//
// A guarantee sets the threshold: fpr 0.05 flags a correctly labelled node with probability 0.05 at most, fnr 0.1 misses a
// mislabelled one with probability 0.1 at most. Both need the mislabel rate, which is the run's estimate or
// what p says; the threshold they come to is printed beside the answer.
//
// # Decisions
//
//	accept      suggested labels are right, and become the labels
//	reject      given labels are right
//	relabel     other labels are right
//	unlabel     no label is right
//	unsure      nodes are put aside
//	undo        the last steps of decisions are taken back
//	history     all that was decided and taken back
//	rescore     rate, scores and threshold in line with what was decided since the last run
//
// A decision with a condition is about the suspects that the condition is true of: nodes that score above the threshold of
// the last run, that nobody has decided on, and whose suggestion is not their label. Nothing that the condition says of
// score or decision widens that. With all before where, a decision is about all scored nodes that the condition is true
// of, and relabel and unlabel, which need no score, are about all nodes. Nodes that somebody has decided on are then left
// out unless the condition speaks of decision.
//
// A decision is about what was shown, the snapshot that the statement was answered in. Where the label, the suggestion, the
// decision or the run of one node is no longer the same when the decision is written, nothing is decided about any node,
// and the error names the first ten that changed and says how many did. A statement is one step, whatever its size: all of
// it is on disk, or nothing, and one undo takes it back.
//
// # Grammar
//
// In EBNF: | separates alternatives, [ ] encloses what may be left out, { } what may be repeated.
//
//	script     = { [ statement ] ";" | command } [ statement ] .
//	statement  = suspects | nodes | count | node | neighbors | explain | clean | rescore | plan
//	           | decide | undo | history | index
//	           | "classes" | "noise" | "runs" | "stats" .
//
//	suspects   = "suspects" [ guarantee ] clauses .
//	nodes      = "nodes" [ moment ] clauses .
//	count      = "count" ( "suspects" [ guarantee ] | "nodes" [ moment ] ) [ where ] [ "group" "by" property ] .
//	node       = "node" id .
//	neighbors  = "neighbors" id [ "hops" number ] [ "limit" number ] .
//	explain    = "explain" id .
//	clean      = "clean" { "hops" number | "preset" ( "default" | "paper" )
//	           | "direction" ( "out" | "in" | "both" ) | "diagonal" ( "exact" | "sampled" )
//	           | "threshold" number | "expect" number | "seed" number } . (each once at most, in any order)
//	rescore    = "rescore" .
//	plan       = "plan" ( suspects | nodes | count ) .
//	decide     = ( "accept" | "reject" | "unlabel" | "unsure" ) ( ids | [ "all" ] where ) [ because ]
//	           | "relabel" ( ids class | class [ "all" ] where ) [ because ] .
//	undo       = "undo" [ number ] .
//	history    = "history" [ id ] .
//	index      = ( "create" | "drop" ) "index" "on" property .
//
//	ids        = id { "," id } .
//	class      = string | number | parameter .
//	because    = "because" ( string | parameter ) .
//	moment     = "as" "of" ( "run" number | string | parameter ) .
//	guarantee  = ( "fpr" | "fnr" ) number [ "p" number ] .
//	clauses    = { where | order | limit | return } .             (each once at most, in any order)
//	where      = "where" expression .
//	order      = "order" "by" property [ "asc" | "desc" ] { "," property [ "asc" | "desc" ] } .
//	limit      = "limit" number .
//	return     = "return" property { "," property } .
//
//	expression = conjunction { "or" conjunction } .
//	conjunction = term { "and" term } .
//	term       = "not" term | "(" expression ")" | test .
//	test       = property ( compare value
//	           | [ "not" ] "in" "(" value { "," value } ")"
//	           | [ "not" ] "like" ( string | parameter )
//	           | [ "not" ] "between" value "and" value
//	           | "is" [ "not" ] "null" ) .
//	compare    = "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" .
//
//	property   = name | '"' characters '"' .                      ("" inside stands for ")
//	value      = string | number | "true" | "false" | parameter .
//	string     = "'" characters "'" .                             ('' inside stands for ')
//	number     = [ "+" | "-" ] ( digits [ "." [ digits ] ] | "." digits ) [ ( "e" | "E" ) [ "+" | "-" ] digits ] .
//	parameter  = "$" digits .                                     (from Go only; $1 is the first argument)
//	name       = letter { letter | digit } .                      (_ is a letter)
//	id         = string | parameter | word .
//	word       = one or more characters other than white space ' " , ( ) ; $ .
//	comment    = "--" to the end of the line, where white space, ";" or nothing stands before it .
//
// In a decision, where stands for the clause, and a node of that id takes quotes; all before where is the keyword, and
// elsewhere an id. A moment that is no run is a time, such
// as '2026-01-31', '2026-01-31 18:00' or '2026-01-31T18:00:00+01:00', in UTC where it has no offset.
//
// Keywords may be written in upper or lower case; as names of properties they need double quotes. White space
// separates words and means nothing else.
//
// # Properties and values
//
// Properties are the columns of the store and the built-in ones: id, label, degree, split, and after a run
// suggested, score, confidence and run; decision is null until somebody decides. A property is compared with
// constants of its own type. Labels are text, and may be written as a number where they look like one, but for <, <=,
// >, >= and between. Ids are integers where all of them are, and else text: then id >= 100 is an error, and
// id >= '100' compares as text. A comparison with a property that has no value is neither true nor false, and neither is
// its negation: is null is the way to ask. In a pattern of like, % stands for any characters, _ for one, and \ makes the
// next one stand for itself.
//
// Without an order, nodes come in the order of the node file and suspects by descending score. What is equal in
// order stays in the order of the node file; what has no value comes last. Text is ordered by its bytes, in which 10 comes
// before 9; where ids or classes look like numbers, order by says so.
//
// A condition has up to 200 levels of brackets and not, and up to 10,000 parts, of which in (…) with any number of values is
// one, and so are equalities of one property joined by or.
package query
