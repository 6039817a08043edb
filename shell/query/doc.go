// Package query answers statements about a store: it lists suspects and nodes, explains scores, takes decisions and runs clean.
// It reads one statement in one snapshot of the store. It knows no terminal, no flag and no file format.
//
// A program imports this package to ask and to decide. [Query] answers a statement from a snapshot, and [Rows] reads the rows of the
// answer into Go values:
//
//	type suspect struct {
//		ID, Suggested string
//		Score         float64
//	}
//	found, err := query.Query(ctx, tx, query.Options{}, "suspects where score > $1 and label = $2", 0.5, "Theory")
//	for s, err := range query.Rows[suspect](found, err) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(s.ID, s.Suggested, s.Score)
//	}
//
// [Exec] runs a statement that writes. Query refuses it. [Options] say who decides, how much memory a statement may use, and who
// confirms a decision on many nodes. [Result.Rows] is for columns that a program does not know beforehand.
//
// A prompt cuts a file into statements with a [Script], and offers what [Complete] finds. A printer follows the
// [Layout] of a [Result].
//
// # Statements
//
//	suspects    nodes whose label is probably wrong, highest score first
//	nodes       list nodes
//	count       count suspects, nodes or decisions, in groups if asked
//	node        everything stored about a node, or about several
//	neighbors   the nodes around a node, nearest first; direct neighbours have direction and weight, if the graph has them
//	explain     why a node has its score
//	describe    the properties that the store holds, with their kinds
//	classes     the classes, with their share, homophily and suspects
//	noise       how often each class is given in place of another
//	runs        every run of clean
//	stats       the size of the store and what it holds
//	clean       score every labelled node and suggest labels
//	plan        how a query is answered: the way, what was read, and the rows found
//
// A suspect is a node that scores above the threshold of the last run, whose suggested label is not its own, and that nobody
// has decided on (cleaner.Suspects). A condition can change two parts of this definition. A condition on score replaces the
// threshold. A condition on decision lists decided nodes too. In a condition with "or", this holds for each alternative
// separately:
//
//	suspects where score > 0.5                    all above 0.5
//	suspects where label = 'A' or score > 0.5     nodes of A above the threshold, and all above 0.5
//	suspects where decision = 'unsure'            above the threshold, and put aside
//	suspects where disputed                       nodes that people disagree about, whatever their score
//	suspects where decided_by = 'ann'             nodes that ann alone has decided on, whatever their score
//
// A guarantee sets the threshold: fpr 0.05 flags a right label with a probability of at most 0.05, fnr 0.1 misses a wrong label
// with a probability of at most 0.1. Both need the mislabel rate: p if it is given, else the estimate of the run. A notice has
// the resulting threshold.
//
// A promise chooses a list, of which labels were drawn by audit draw for: suspects fdr 0.1 lists suspects of which at most a
// tenth are right, and labels trusted fdr 0.05 labels of which at most a twentieth are wrong, both with 90% confidence. A notice
// tells the promise, which is of the whole list, whatever a condition leaves of it.
//
// # Decisions
//
//	accept      suggested labels are right, and become the labels
//	reject      given labels are right
//	relabel     other labels are right
//	unlabel     no label is right
//	unsure      nodes are put aside
//	undo        the last steps of decisions are taken back
//	history     all decisions and undos
//	agreement   how well people agree
//	audit       how many labels are wrong, by a sample that chance drew; audit draw 50 draws,
//	            and audit draw for fdr 0.1 draws from the first suspects
//	rescore     scores around changes are computed again; rate, scores and threshold move to fit the decisions since the last run
//
// A decision with a condition is about the suspects that meet the condition. The threshold of the last run always applies, and
// decided nodes are always left out, even if the condition has score or decision. Only disputed nodes that the condition asks for
// are added. With "all where", a decision is about every
// scored node that meets the condition; relabel and unlabel are also about nodes without a score. Decided nodes are then left
// out, unless the condition has the property decision, decided_by or disputed. With a limit, a decision is about the first of these nodes:
// those with the highest scores, as suspects lists them.
//
// The decisions of several people about a node are kept apart. Package cleaner/decide says when a node is disputed, and what is in
// force meanwhile.
//
// A decision is about the nodes in the snapshot that the statement has read. If the label, suggestion, decision or run of one
// node has changed before the write, or whether it is disputed, the statement decides nothing. The error has the number of changed nodes and names the
// first ten. A statement of any size is one step: all of it is on disk, or nothing, and one undo takes it back.
//
// A condition behind "if" must be true of each node that the statement names. Otherwise nothing is decided, and the error names the
// nodes. So a program that showed a label and a suggestion to a person decides only about them:
//
//	accept $1 if label = $2 and suggested = $3
//	relabel p17 'Theory' if decision is null          only if nobody has decided
//
// # Grammar
//
// In EBNF: | separates alternatives, [ ] encloses what may be left out, { } what may be repeated.
//
//	script     = { [ statement ] ";" | command } [ statement ] .
//	statement  = suspects | nodes | labels | count | node | neighbors | explain | clean | rescore | plan | audit
//	           | decide | undo | history | index
//	           | "agreement" | classes | "describe" | "noise" | "runs" | "stats" .
//
//	suspects   = "suspects" [ guarantee | fdr ] clauses .
//	nodes      = "nodes" clauses .
//	labels     = "labels" trusted clauses .
//	count      = "count" ( counted | "history" [ where ] grouping ) .
//	counted    = ( "suspects" [ guarantee | fdr ] | "nodes" | "labels" trusted ) [ where ] grouping .
//	grouping   = [ totals ] | group { totals | rank | limit | offset } .
//	group      = "group" "by" figure { "," figure } .
//	totals     = "return" total [ "as" property ] { "," total [ "as" property ] } .
//	total      = ( "min" | "max" | "avg" | "sum" ) "(" figure ")" .
//	rank       = "order" "by" ( total | figure ) [ "asc" | "desc" ] { "," ( total | figure ) [ "asc" | "desc" ] } .
//	node       = "node" ids .
//	neighbors  = "neighbors" id [ "hops" number ] filters .
//	explain    = "explain" id .
//	classes    = "classes" filters .
//	clean      = "clean" { "hops" number | "preset" ( "default" | "paper" )
//	           | "direction" ( "out" | "in" | "both" )
//	           | "threshold" number | "expect" number | "seed" number | "as" "given" } . (each once at most, in any order)
//	rescore    = "rescore" [ "full" ] .
//	audit      = "audit" [ "draw" ( "for" promise | number [ "for" promise | "seed" number ] ) ] .
//	plan       = "plan" ( suspects | nodes | labels | tally ) .
//	tally      = "count" counted .
//	decide     = ( "accept" | "reject" | "unlabel" | "unsure" ) ( ids [ if ] | [ "all" ] where [ limit ] ) [ because ]
//	           | "relabel" ( ids class [ if ] | class [ "all" ] where [ limit ] ) [ because ] .
//	undo       = "undo" [ number ] .
//	history    = "history" [ id ] filters .
//	index      = ( "create" | "drop" ) "index" "on" property .
//
//	ids        = id { "," id } .
//	if         = "if" expression .
//	class      = string | number | parameter .
//	because    = "because" why .
//	why        = string | parameter .
//	guarantee  = ( "fpr" | "fnr" ) number [ "p" number ] .
//	promise    = fdr | trusted .
//	fdr        = "fdr" number .
//	trusted    = "trusted" fdr .
//	clauses    = { where | sample | order | limit | offset | return } .      (each once at most, in any order)
//	filters    = { where | order | limit | offset | return } .    (likewise)
//	where      = "where" expression .
//	sample     = "sample" number [ "seed" number ] .
//	order      = "order" "by" figure [ "asc" | "desc" ] { "," figure [ "asc" | "desc" ] } .
//	limit      = "limit" number .
//	offset     = "offset" number .
//	return     = "return" [ "distinct" ] ( "*" | figure [ "as" property ] { "," figure [ "as" property ] } ) .
//
//	expression = conjunction { "or" conjunction } .
//	conjunction = term { "and" term } .
//	term       = "not" term | "(" expression ")" | test .
//	test       = figure [ compare ( value | figure )
//	           | [ "not" ] "in" "(" value { "," value } ")"
//	           | [ "not" ] ( "like" | "ilike" ) text
//	           | [ "not" ] "between" value "and" value
//	           | "is" [ "not" ] "null" ]
//	           | neighbor | lowered .                             (a property alone is true or false)
//	figure     = property | share .
//	share      = "share" "(" ( property | class ) [ "," number ] ")" .
//	neighbor   = "neighbor" "(" expression [ "," number ] ")" .
//	lowered    = "lower" "(" property ")" ( ( "=" | "!=" | "<>" ) text
//	           | [ "not" ] "in" "(" text { "," text } ")"
//	           | [ "not" ] "like" text ) .
//	text       = string | parameter .
//	compare    = "=" | "!=" | "<>" | "<" | "<=" | ">" | ">=" .
//
//	property   = name | '"' characters '"' .                      ("" inside stands for ")
//	value      = string | number | "true" | "false" | parameter .
//	string     = "'" characters "'" .                             ('' inside stands for ')
//	number     = [ "+" | "-" ] ( digits [ "." [ digits ] ] | "." digits ) [ ( "e" | "E" ) [ "+" | "-" ] digits ] .
//	parameter  = "$" digits .                                     (from Go only; $1 is the first argument, and may stand for a number)
//	name       = letter { letter | digit } .                      (_ is a letter)
//	id         = string | parameter | word .
//	word       = one or more characters other than white space ' " , ( ) ; $ .
//	comment    = "--" to the end of the line, where white space, ";" or nothing stands before it .
//
// Behind the "--" of a comment stands no letter from A to Z: --name looks like a flag of a command, and is an error.
//
// In a decision, the word "where" begins the condition. A node with the id "where" needs quotes. So do, behind history, the words
// that begin its clauses. The word "all" is a keyword only before "where"; elsewhere it is an id.
//
// Keywords may be written in upper or lower case; as names of properties they need double quotes. White space
// separates words and means nothing else.
//
// # Properties and values
//
// Properties are the columns of the store and the built-in ones: id, label, degree, split, and after a run suggested, score,
// confidence and run; decision is null until somebody decides, and so are decided_by, the names of all who have decided, and
// disputed, which is true while people disagree. A property is compared with constants of its own type, or with another property of
// the node: numbers with numbers, text with text. Labels are text. A label that is true or false may be written without
// quotes, and one that looks like a number too, except after <, <=, >, >= and between. If all ids are integers, ids
// compare as integers, else as text: then id >= 100 is an error, and id >= '100' compares as text. A comparison with a
// property that has no value is neither true nor false, and neither is its negation; use "is null". ilike is like in
// lower case: it lowers pattern and value, and lower(p) lowers the value alone. In a pattern of like, % stands for any
// characters, _ for one, and \ makes the next character stand for itself.
//
// share(label, 2) is the share, among the labelled nodes within 2 hops of a node, of those that have its label; share(suggested, 2) is that
// of its suggested label, and share('Theory', 2) that of a class. Edges lead in both directions, each node counts once, and the node itself
// does not count. It is null if the node has no label, or no labelled node is near. neighbor(score > 0.9, 2) is true if the condition is true
// of a node within 2 hops; it is never null. A condition on neighbours does not replace what suspects ask of the node itself. Without a
// number, both are about 1 hop. Only nodes that the rest of a condition leaves are asked about; each takes a walk over its neighbourhood.
//
// Conditions on neighbors know the properties of the neighbours, and hop and the columns of the edges, which hide properties of the same
// name. Conditions on the history and on classes know their columns alone. The times of the history are texts such as
// 2026-01-31T18:00:00.000000Z. What they are compared with is a time, to the microsecond, such as
// '2026-01-31', '2026-01-31 18:00' or '2026-01-31T18:00:00+01:00'. A time without an offset is in UTC.
// So is what a column of a node is compared with, if all of its texts are times of one form, such as 2026-01-31,
// 2026-01-31 18:00 or 2026-01-31T18:00:00.000Z.
//
// "order by" takes properties, and the names that "as" gives to columns where no property has such a name.
// Without "order by", nodes come in file order and suspects by descending score. Rows that are equal in the order keep the
// file order. Rows without a value come last. Text is ordered by its bytes, so 10 comes before 9; if ids or classes look like
// numbers, order by adds a notice about this.
//
// A total of no values is null. avg and sum are those of the exact numbers, rounded once. A sum of integers is an integer, and an error
// if none is that large. Groups have the columns of "group by", then count, then the totals. "order by" knows these columns, and other
// totals. Groups that are equal in the order are ordered by their values.
//
// An offset leaves out the first rows, and a limit counts those behind it. "return *" has every property that the store holds. With
// "distinct", rows that are equal are returned once, in the place of the first of them, and offset and limit count these rows. Rows
// that half of the memory does not hold wait in temporary files, until all others are known. Before a comma, distinct is a property;
// elsewhere behind return, such a property needs double quotes.
//
// A sample is drawn at random from the rows that the condition finds: each row has the same chance, and none comes twice. The same seed
// draws the same rows of the same store, whatever the order. A larger sample has all rows of a smaller one. Without a seed, or with
// seed 0, the seed is DefaultSeed. The limit counts the rows of the sample.
//
// A condition has up to 200 levels of brackets and not, and up to 10,000 parts. A list in (…) is one part, whatever its length.
// Equalities of one property joined by "or" are one part.
package query
