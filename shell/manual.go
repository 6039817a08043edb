package shell

// An entry is what .help says of one statement.
type entry struct {
	name    string
	usage   string
	summary string // one line
	text    string // the rest of what .help NAME prints
	example string
}

// manual lists the statements by name.
var manual = []entry{
	{
		name:    "classes",
		usage:   "classes",
		summary: "the classes, with their share, homophily and suspects",
		text: `Homophily is the share of labelled neighbours with the same label, over the labelled nodes of the class.
Self-confidence is the mean predicted probability of the given label. Suspects are counted above the
threshold of the last run. Classes are sorted as numbers where all are numbers, else by bytes: the order of the
columns of predictions that have no header.`,
		example: "classes",
	},
	{
		name:    "clean",
		usage:   "clean [hops K] [direction out|in|both]",
		summary: "score every labelled node and suggest labels",
		text: `Trains the built-in classifier first where the store has no predictions. The scores of an earlier run are
replaced when the new ones are complete. In a directed graph a node gathers from those its edges lead to (out),
from those whose edges lead to it (in), or from both, as it does where no direction is given.`,
		example: "clean hops 2",
	},
	{
		name:    "count",
		usage:   "count suspects|nodes [where CONDITION] [group by PROPERTY]",
		summary: "count suspects or nodes, in groups if asked",
		text:    "Groups are printed largest first.",
		example: "count suspects where score > 0.97 group by label",
	},
	{
		name:    "explain",
		usage:   "explain ID",
		summary: "why a node has its score",
		text: `Prints the prediction, the agreement features, how the neighbours are labelled, and the score that the node
would have had under each other label.`,
		example: "explain 1042",
	},
	{
		name:    "neighbors",
		usage:   "neighbors ID [hops K] [limit N]",
		summary: "the nodes around a node, nearest first",
		text:    "The column hop is the distance from the node; hops is 1 where not given.",
		example: "neighbors 1042 hops 2",
	},
	{
		name:    "node",
		usage:   "node ID",
		summary: "everything stored about one node",
		text:    "An id is written as it is; one with spaces, quotes, commas, brackets or semicolons in it takes single quotes.",
		example: "node 1042",
	},
	{
		name:    "nodes",
		usage:   "nodes [where CONDITION] [order by P [desc], …] [limit N] [return P, …]",
		summary: "list nodes",
		text: `A condition compares properties with constants: = != < <= > >=, in ('a', 'b'), like 'graph%', between 1 and 5,
is null, joined by and, or, not and brackets. Text takes single quotes, names with odd characters double ones.`,
		example: "nodes where label = 'Theory' and degree > 10 and not (split = 'train') limit 20",
	},
	{
		name:    "noise",
		usage:   "noise",
		summary: "which classes are given in place of which",
		text: `The transition matrix: in the column of a true class, the probability of each given label. Below it stand the
pairs of classes that are confused most. Formats for programs have one row a pair.`,
		example: "noise",
	},
	{
		name:    "plan",
		usage:   "plan suspects|nodes|count …",
		summary: "how a query would be answered, without running it",
		text:    "Shows which index is read, and the condition left to test on each row.",
		example: "plan suspects where score > 0.97",
	},
	{
		name:    "runs",
		usage:   "runs",
		summary: "every run of clean",
		text:    "The last run is the one that the scores in the store come from.",
		example: "runs",
	},
	{
		name:    "stats",
		usage:   "stats",
		summary: "the size of the store and what it holds",
		text:    "Nodes, edges, labels, columns, matrices, runs and the bytes on disk.",
		example: "stats",
	},
	{
		name:    "suspects",
		usage:   "suspects [fpr A|fnr A [p R]] [where CONDITION] [order by P [desc], …] [limit N] [return P, …]",
		summary: "nodes whose label is probably wrong, highest score first",
		text: `Lists scored nodes that nobody has decided on. They are above the threshold of the last run, unless the
condition speaks of score and so replaces it. fpr 0.05 takes the threshold that flags a correct label
with probability 0.05 at most, fnr 0.1 the one that misses a wrong label with probability 0.1 at most;
p replaces the run's estimate of the share of wrong labels.`,
		example: "suspects where score > 0.97 and degree > 3 limit 20 return id, label, suggested, score",
	},
}

func statementNames() []string {
	names := make([]string, len(manual))
	for i, m := range manual {
		names[i] = m.name
	}
	return names
}
