// Package index finds nodes by their properties. It updates the indexes of columns with every write, and plans queries.
//
//	s, err := index.Open("graph.db", kv.Options{})
//	err = index.Create(ctx, s, "score")
//	tx := s.Begin()
//	defer tx.Close()
//	plan, err := index.NewPlan(tx, index.Query{
//		Where: index.Compare{Property: "score", Op: index.Gt, Value: kv.ValueOf(0.97)},
//		Order: []index.Order{{Property: "score", Descending: true}},
//		Limit: 10,
//	})
//	for v, err := range plan.Rows(ctx) { … }
//
// # Predicates
//
// A [Predicate] is a tree of Compare, CompareProperties, In, Like, IsNull, And, Or and Not, and prints
// itself:
//
//	(and (gt score 0.97) (not (in label "Theory" "Case_Based")))
//
// It is true, false or unknown, as in SQL: a comparison with null is unknown, Not leaves that so, and a query answers
// with the nodes for which its predicate is true.
//
// Every stored column is a property; every store has the column label. The properties suggested, score, confidence,
// split, decision, decided_by, disputed and run always exist: if the store lacks the column, they are null for every
// node. id, the external id, and degree are properties without a column. NewPlan returns an [*UnknownPropertyError] for
// any other name, and a [*TypeError] for a constant that cannot be compared with its property. Integers and floats are
// compared exactly with each other.
//
// A query may bring properties of its own, whose values are computed: see [Computed]. They have no index and no blocks,
// and are tested last.
//
// An id can be compared with text and with integers: the id 7 equals 7 and "7". If all ids are integers, they are
// ordered as integers, else as text, by bytes. For a constant of the other kind, a comparison of order returns a
// TypeError. So a condition becomes an error, and never changes its meaning, if a new id turns all ids into text.
//
// NewPlan returns [ErrPredicate] for a nil term, a pointer, a type of another package, more than [MaxDepth] levels, or
// more than 10,000 conditions. A list, In, of any length is one condition; equalities of one property joined by Or are
// one list.
//
// # Plans
//
// [NewPlan] simplifies the predicate: it pushes Not to the leaves, flattens And and Or, folds constants, and joins the
// comparisons of one property into one range or list. Then it takes the first of these ways that fits:
//
//   - External ids are looked up in the dictionary.
//   - A range of an index is a set of nodes, if it is narrow: at most 16384 entries, or one in 32 nodes where else all
//     nodes would be scanned. They are counted. Of several narrow ranges, that of the fewest entries is taken.
//   - An order by an indexed property is a walk of that index, up to the limit: the ten highest scores read about ten
//     entries.
//   - Without an order, and with a limit or without a condition, the node file is walked from its beginning.
//   - Else all nodes are scanned in blocks of columns. A block whose least and greatest values exclude the predicate is
//     skipped.
//
// Conditions that the index does not decide are tested row by row, in batches of ascending NodeID. A condition on an
// indexed property that is no range, such as Like "%ing", is tested once for each value in the index.
//
// Nobody knows how soon a walk in order reaches its limit. After 16384 rows that were tested row by row, or 64 if a
// condition is on degree, the walk gives way to a narrow range or a scan. Where a condition asks for computed values,
// it goes on. A scan for the first rows of an order skips blocks that have none of them.
//
// Rows come in the order of the query, nulls last in either direction. Ties, and all rows without an order, are in file
// order. Memory: with a limit up to 16384, at most twice as many rows; for a longer or unlimited sort 64 MiB, and a
// temporary file in os.TempDir; in file order one bit a node; 4 bytes for each row with an equal value that must be
// sorted.
//
// [Plan.String] prints the plan. [Plan.Reads] counts what the plan read.
//
// # Layout
//
// The index of column C is the kv.Space "index/C". An entry is the encoded value, called its key, followed by the
// NodeID in 4 bytes, big endian. A key is a tag and a body whose byte order is the order of values (NaN and null have
// no key and no entry):
//
//	bool    01  00 or 01
//	int     02  8 bytes, big endian, sign bit flipped
//	float   03  8 bytes, big endian; sign bit flipped, or all bits where negative; -0 as 0
//	string  04  the bytes, 00 as 00 FF, then 00 01; of strings above 128 bytes the first 128, then 00 02
//
// To distinguish strings that are cut at 128 bytes, the column is read. The space has two sorts of records:
//
//	'L' entry  a leaf, under its first entry
//	'C' entry  a change: one byte, 1 if the entry exists, 0 if not, whatever the leaves have
//
// A leaf holds up to 512 entries, the keys front coded and the NodeIDs of equal keys gap coded:
//
//	groups  uvarint
//	each group, ascending by key:
//	    shared   uvarint   bytes its key has in common with the key before
//	    rest     uvarint   length of what follows of the key
//	    bytes
//	    count    uvarint
//	    nodes    uvarint   the first, then for each other its distance to the one before
//
// The space "head/score" has copies of the rows of the last entries of the index on score: of one node in 32, and at
// most about 16,384 nodes and 512 KiB. A row of more than 256 bytes is left out. A walk from the highest score reads
// them, and [Plan.Known] returns them. The records are numbered from 0, in 2 bytes, big endian. Each has up to 256
// rows, descending by entry: the node, and for each of id, label, suggested, confidence and decision the kv.Tx.Origin
// of the value, 0 if it had none, its length, and the value as kv.Value.Append writes it. Numbers are uvarints. A copy
// is passed over if its value has another origin now. [Compact] and [CopyHeads] write copies anew.
//
// Leaves are written in bulk: by [Create], by a [Builder] together with the column it indexes, and by [Compact]. In
// between, every changed value of an indexed column costs its transaction two small records and no read, written by
// [Maintain], which kv calls for each change in the same transaction; reads merge the changes into the leaves they
// belong to.
//
// The records of kv have checksums. If damage has a right checksum, decoding returns kv.ErrCorrupt and never panics.
// [Check] compares every index with its column, and copies with what they are of. [Repair] rebuilds damaged indexes.
package index
