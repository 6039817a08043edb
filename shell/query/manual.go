package query

import "slices"

// A Page describes one statement for its user.
type Page struct {
	Name    string
	Usage   string
	Summary string // one line
	Text    string // what the summary leaves out
	Example string
}

// manual lists the statements by name.
var manual = []Page{
	{
		Name:    "accept",
		Usage:   "accept ID[, ID…] [because 'WHY']  |  accept [all] where CONDITION [because 'WHY']",
		Summary: "decide that suggested labels are right, and take them",
		Text: `With a condition it decides on the suspects above the threshold of the last run that the condition is true of,
whatever the condition says of score. With all before where it decides on all scored nodes that the condition is true of;
nodes that somebody has decided on are among them only where the condition speaks of decision. It shows the first ten
nodes and how many there are, and asks; without a terminal it wants --yes. Where the label, the suggestion, the decision or
the run of a node changes before the answer, nothing is decided, and the nodes are named. All of a statement is one step,
which undo takes back. A decision is kept with its time, who, why, run and score, and stays through later runs of clean;
decided nodes are suspects no more.`,
		Example: "accept where score > 0.99 because 'seen on the plot'",
	},
	{
		Name:    "classes",
		Usage:   "classes",
		Summary: "the classes, with their share, homophily and suspects",
		Text: `Homophily is the share of labelled neighbours with the same label, over the labelled nodes of the class.
Self-confidence is the mean predicted probability of the given label. Suspects are those of the statement suspects
without a condition. Classes are sorted as numbers where all are numbers, else by bytes: the order of the
columns of predictions that have no header.`,
		Example: "classes",
	},
	{
		Name:    "clean",
		Usage:   "clean [hops K] [preset default|paper] [direction out|in|both] [diagonal exact|sampled] [threshold T] [expect R] [seed N]",
		Summary: "score every labelled node and suggest labels",
		Text: `Trains the built-in classifier first where the store has no predictions. The scores of an earlier run are
replaced when the new ones are complete. In a directed graph a node gathers from those its edges lead to (out),
from those whose edges lead to it (in), or from both, as it does where no direction is given. The preset paper is
GraphCleaner as published. Closed walks are counted (exact) or, where that takes too long, sampled. Without a
threshold it follows from the estimated mislabel rate; where you expect a share R of the labels to be wrong, from
that. Without a seed that is 1. Ctrl-C stops it, and given again it goes on from there.`,
		Example: "clean hops 2 preset paper",
	},
	{
		Name:    "count",
		Usage:   "count suspects [fpr A|fnr A [p R]]|nodes [as of …] [where CONDITION] [group by PROPERTY]",
		Summary: "count suspects or nodes, in groups if asked",
		Text:    "Groups are printed largest first.",
		Example: "count suspects where score > 0.97 group by label",
	},
	{
		Name:    "create",
		Usage:   "create index on PROPERTY",
		Summary: "index a property, so that conditions on it are fast",
		Text: `Queries use the index by themselves where it helps; plan shows whether they do. Writes keep it in step. id and
degree need none.`,
		Example: "create index on split",
	},
	{
		Name:    "drop",
		Usage:   "drop index on PROPERTY",
		Summary: "remove the index of a property",
		Text:    "Answers stay the same without it.",
		Example: "drop index on split",
	},
	{
		Name:    "explain",
		Usage:   "explain ID",
		Summary: "why a node has its score",
		Text: `Prints the prediction, the agreement features, how the neighbours are labelled, and the score that the node
would have had under each other label.`,
		Example: "explain 1042",
	},
	{
		Name:    "history",
		Usage:   "history [ID]",
		Summary: "every decision made, or those on one node, oldest first",
		Text: `Decisions are never deleted: one that was undone stays, and another follows it that names it in undoes. Those of
one statement have the same step. From and to are the labels before and after.`,
		Example: "history 1042",
	},
	{
		Name:    "neighbors",
		Usage:   "neighbors ID [hops K] [limit N]",
		Summary: "the nodes around a node, nearest first",
		Text:    "The column hop is the distance from the node; hops is 1 where not given.",
		Example: "neighbors 1042 hops 2",
	},
	{
		Name:    "node",
		Usage:   "node ID",
		Summary: "everything stored about one node",
		Text:    "An id is written as it is; one with spaces, quotes, commas, brackets or semicolons in it takes single quotes.",
		Example: "node 1042",
	},
	{
		Name:    "nodes",
		Usage:   "nodes [as of run N|as of 'TIME'] [where CONDITION] [order by P [desc], …] [limit N] [return P, …]",
		Summary: "list nodes",
		Text: `A condition compares properties with constants: = != < <= > >=, in ('a', 'b'), like 'graph%', between 1 and 5,
is null, joined by and, or, not and brackets. Text takes single quotes, names with odd characters double ones.
Ids that are not all integers are text, and so are classes: < <= > >= and between then take text, as in id >= '100',
and go by its bytes, in which 10 comes before 9.
as of shows and searches labels and decisions as they were when a run began, or at a time such as '2026-01-31 18:00'
(UTC, or with an offset as in 2026-01-31T18:00:00+01:00); other properties are those of today. Decisions of a file count
from when they were imported.`,
		Example: "nodes where label = 'Theory' and degree > 10 and not (split = 'train') limit 20",
	},
	{
		Name:    "noise",
		Usage:   "noise",
		Summary: "which classes are given in place of which",
		Text: `The transition matrix: in the column of a true class, the probability of each given label. Below it stand the
pairs of classes that are confused most, of each label the share that is wrong, and of all labels, with the interval and
the grey zone. csv and tsv have one row a pair; json
and jsonl have all in one object: mislabel_rate, mislabel_rates, confused, and transition in the order of classes.`,
		Example: "noise",
	},
	{
		Name:    "plan",
		Usage:   "plan suspects|nodes|count …",
		Summary: "how a query is answered, and what that takes",
		Text: `Shows which index is read, the condition left to test on each row, the rows and entries that were expected, and
then, having found them, the rows there are and what was read for them.`,
		Example: "plan suspects where score > 0.97",
	},
	{
		Name:    "reject",
		Usage:   "reject ID[, ID…] [because 'WHY']  |  reject [all] where CONDITION [because 'WHY']",
		Summary: "decide that given labels are right, and keep them",
		Text:    "The nodes are suspects no more. Conditions, steps and history are as for accept.",
		Example: "reject 1042, 1043",
	},
	{
		Name:    "relabel",
		Usage:   "relabel ID[, ID…] 'CLASS' [because 'WHY']  |  relabel 'CLASS' [all] where CONDITION [because 'WHY']",
		Summary: "give nodes a label of your choice",
		Text: `Conditions, steps and history are as for accept, but all takes nodes without a score too, such as those without a
label: relabel 'Theory' all where label is null.`,
		Example: "relabel 1042 'Theory'",
	},
	{
		Name:    "rescore",
		Usage:   "rescore",
		Summary: "bring rate, scores and threshold in line with the decisions since the last run",
		Text: `A score is a chance. Where fewer of the suspects turn out wrong than their scores say, or more, all scores move, without
a new run; their order stays. The next clean learns from the decisions in full.`,
		Example: "rescore",
	},
	{
		Name:    "runs",
		Usage:   "runs",
		Summary: "every run of clean",
		Text: `The last run is the one that the scores in the store come from. predictions says where those came from that it was
given: the report of clean says what was done with them. mislabel_rate is the estimate, and rate_low to rate_high an
interval that has nine tenths of what is believed of it. grey counts the labels, beside the suspects, of which nothing in
graph and predictions says whether they are wrong or hard to tell: decisions do. rescored is up to which entry of the
history decisions have moved the scores.`,
		Example: "runs",
	},
	{
		Name:    "stats",
		Usage:   "stats",
		Summary: "the size of the store and what it holds",
		Text: `Nodes, edges, labels, columns, matrices, runs and the bytes on disk; of the last run the mislabel rate with its
interval, the grey zone, and how many wrong labels are expected to be found yet.`,
		Example: "stats",
	},
	{
		Name:    "suspects",
		Usage:   "suspects [fpr A|fnr A [p R]] [where CONDITION] [order by P [desc], …] [limit N] [return P, …]",
		Summary: "nodes whose label is probably wrong, highest score first",
		Text: `A suspect scores above the threshold of the last run, has a suggested label other than its own, and nobody has decided
on it. A condition that speaks of score takes the place of the threshold; one that speaks of decision lists decided
nodes too. Each alternative of or counts by itself: label = 'A' or score > 0.5 lists nodes of A above the threshold,
and all others above 0.5. Nodes that score high although their own label is suggested are found by nodes.
fpr 0.05 takes the threshold that flags a correct label with probability 0.05 at most, fnr 0.1 the one that misses a
wrong label with probability 0.1 at most;
p replaces the run's estimate of the share of wrong labels. The number of scores, p and the threshold λ are printed.`,
		Example: "suspects where score > 0.97 and degree > 3 limit 20 return id, label, suggested, score",
	},
	{
		Name:    "undo",
		Usage:   "undo [N]",
		Summary: "take back the last step of decisions, or the last N",
		Text: `Labels and decisions are again as they were before. The history keeps both the decision and that it was taken back;
a further undo takes back the step before.`,
		Example: "undo 2",
	},
	{
		Name:    "unlabel",
		Usage:   "unlabel ID[, ID…] [because 'WHY']  |  unlabel [all] where CONDITION [because 'WHY']",
		Summary: "remove labels, and keep the nodes",
		Text:    "For labels that are wrong where no right one is known. Conditions, steps and history are as for relabel.",
		Example: "unlabel where score > 0.9 and confidence < 0.3",
	},
	{
		Name:    "unsure",
		Usage:   "unsure ID[, ID…] [because 'WHY']  |  unsure [all] where CONDITION [because 'WHY']",
		Summary: "put nodes aside undecided",
		Text: `They keep their labels and leave the list of suspects; suspects where decision = 'unsure' lists them. Conditions, steps
and history are as for accept.`,
		Example: "unsure 1042 because 'two fields at once'",
	},
}

// Manual returns a page for every statement, in the order of their names.
func Manual() []Page { return slices.Clone(manual) }

// StatementNames returns the names of all statements, in order.
func StatementNames() []string {
	names := make([]string, len(manual))
	for i, m := range manual {
		names[i] = m.Name
	}
	return names
}
