// Package index finds nodes by their properties: it keeps secondary indexes of property columns in step with every
// write, and chooses how to answer a query with them.
//
//	s, err := index.Open("graph.db", kv.Options{})
//	err = index.Create(ctx, s, "score")
//	tx := s.Begin()
//	defer tx.Close()
//	plan, err := index.NewPlan(tx, index.Query{
//		Where: index.Compare{Property: "score", Op: index.Gt, Value: kv.FloatValue(0.97)},
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
// The names are those of the stored columns, and these, which a store may lack and which are then null for every node:
// suggested, score, confidence, split, decision, run. Two more are no columns: id, the external id, and degree.
// A name that is neither is an [*UnknownPropertyError]; a constant that cannot be compared with its property a
// [*TypeError]. Integers and floats are compared exactly with each other. An id equals the text and the integer that write
// it. Ids are ordered as integers where all of them are, and as text otherwise, by bytes; a constant of the other kind has
// no order among them and is a TypeError, so that an id that turns ids into text changes the meaning of no condition.
//
// A nil term, a pointer, a type of another package, more than [MaxDepth] levels, or more than 10,000 conditions that are no
// list is an [ErrPredicate]. A list, In, may be of any length; equalities of one property joined by Or are one list.
//
// # Plans
//
// [NewPlan] simplifies the predicate (Not pushed to the leaves, And and Or flattened, constants folded, the comparisons
// of one property joined into one range or list) and takes the cheapest of these ways:
//
//   - lookup of external ids in the dictionary;
//   - ranges of one index, read without touching a row;
//   - intersections and unions of such sets, as roaring bitmaps of NodeIDs;
//   - an index in the order asked for, which stops at the limit: the ten highest scores read about ten entries;
//   - the node file from its beginning, which needs no sorting and stops at the limit;
//   - a scan of column blocks, leaving out those whose least and greatest values rule the predicate out.
//
// What a source does not decide is looked up row by row, in batches of ascending NodeID. A condition on an indexed
// property that is no range, such as Like "%ing", is decided once for each value in the index.
//
// Estimates come from a histogram written when the index is built, and where it says that little is there, from reading
// up to four leaves. Conditions on degree are searched for in the degrees, which descend with NodeIDs; those on other
// properties are tried on 512 nodes. How soon a walk in order reaches its limit remains a guess: one that is not over
// when it has cost as much as finding all matching nodes first gives way to that, and a query takes at most about twice
// the time of the better way. A scan for the first few in an order leaves out blocks that have none of them.
//
// Rows come in the order asked for, nulls last in either direction; ties, and all rows where no order is asked for, in
// the order of the node file. A limit up to 16384 holds twice as many rows at most; a longer or unlimited sort holds 64
// MiB and continues in a temporary file in os.TempDir; rows in file order cost a bit a node, rows of one value that are
// put in order 4 bytes each.
//
// [Plan.String] prints the plan and [Plan.Touched] counts what it read.
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
// Strings cut at 128 bytes are told apart by reading the column. The space holds two sorts of records:
//
//	'L' entry  a leaf, under its first entry
//	'C' entry  a change: one byte, 1 when the entry is there, 0 when it is not, whatever the leaves say
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
// Leaves are written in bulk: by [Create], by a [Builder] together with the column it indexes, and by [Compact]. In
// between, every changed value of an indexed column costs its transaction two small records and no read, written by
// [Maintain], which kv calls for each change in the same transaction; reads merge the changes into the leaves they
// belong to. The space "index" holds the histogram of each index under the name of its column: uvarints for version
// (1), entries, number of bounds, and for each bound, at most 256, its length and the first 32 bytes of a key.
//
// Checksums are those of kv's records. Whatever gets past them, decoding returns kv.ErrCorrupt and does not panic.
// [Check] compares every index with its column, and [Repair] builds those anew that are damaged.
package index
