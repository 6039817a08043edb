// Package shell is the program: its commands. Package query answers statements, and package print prints answers.
//
// [Main] runs a command line.
//
// # Files of decisions
//
// The command export writes the history, an entry a row: seq, step, time, id, decision, from, to, who, why, run, score,
// undoes and disputed. An entry whose decision is undo takes back the entry with the seq in undoes. The
// command import reads such tables, and any other table with ids and right labels. The column id and
// one of label, to and decision are necessary. Only the last entry about a node counts, and an undone entry does not
// count. import compares the remaining entries with the store:
//
//	the store has the decision    The entry is left out. accept, reject and relabel to the same label are the same.
//	the entry is older            The entry is left out: the store has a later decision about the node.
//	the label is another          The entry is left out: from or original_label is not the label in the store.
//	else                          The entry becomes a decision. unsure, unlabel and relabel stay. Any other entry is
//	                              accept if its label is the suggestion, reject if its label is that in the store,
//	                              else relabel.
//
// Neighbouring decisions of one person, time and reason are one step. They keep who, why and time, even if the store
// has later entries. import refuses a file with a time more than five minutes ahead of the clock. All decisions of a
// file are written at once.
//
// # Exit codes
//
// Main lists them. At the prompt, SIGTERM and SIGHUP end the session; Ctrl-C does not. A second signal kills the
// process.
//
// A standard output that is closed before the program starts, as by >&- in a shell, counts as /dev/null: the output is
// lost, and the exit code is 0.
package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/graphcleaner/graphcleaner/cleaner"
	"github.com/graphcleaner/graphcleaner/cleaner/evaluate"
	"github.com/graphcleaner/graphcleaner/kv"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/internal/wording"
	"github.com/graphcleaner/graphcleaner/shell/print"
	"github.com/graphcleaner/graphcleaner/shell/query"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// Exit codes of Main.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitVerdict     = 3
	exitInterrupted = 130
)

// commonFlags are the flags that may stand before a command.
type commonFlags struct {
	Version versionFlag `help:"Print the version."`
	messageFlags
}

// commandLine is the program's command line: a field a command.
type commandLine struct {
	commonFlags

	Demo     demoCommand     `cmd:"" help:"Do the whole job on a generated graph with planted mislabels."`
	Import   importCommand   `cmd:"" help:"Load a graph into a new store, or add nodes, edges, predictions or decisions to an existing one."`
	Remove   removeCommand   `cmd:"" help:"Remove nodes and edges from a store."`
	Predict  predictCommand  `cmd:"" help:"Train the built-in base classifier and write its predictions."`
	Estimate estimateCommand `cmd:"" help:"Estimate memory and disk of import and clean before they run."`
	Clean    cleanCommand    `cmd:"" help:"Score every labelled node and suggest labels."`
	Score    scoreCommand    `cmd:"" help:"Score nodes as of now, by the model of the last run."`
	Rescore  rescoreCommand  `cmd:"" help:"Bring the stored scores up to date after changes and decisions."`
	Shell    shellCommand    `cmd:"" help:"Ask a store: suspects, nodes, explanations."`
	Draw     drawCommand     `cmd:"" help:"Draw a node with its neighbourhood, as SVG."`
	Audit    auditCommand    `cmd:"" help:"Look at labels that chance chose, and learn how many are wrong."`
	Review   reviewCommand   `cmd:"" help:"Decide about one suspect after another, each with its evidence."`
	Serve    serveCommand    `cmd:"" help:"Hold a store, and do the work of other commands on it."`
	Gate     gateCommand     `cmd:"" help:"Fail if there are too many suspects, or new ones."`
	Eval     evalCommand     `cmd:"" help:"Make labels wrong on purpose, and measure how many are found."`
	Export   exportCommand   `cmd:"" help:"Write scores, suspects, labels, decisions, verdicts, predictions, features or the transition matrix to a file."`
	Stats    statsCommand    `cmd:"" help:"Print the size and the contents of a store."`
	Check    checkCommand    `cmd:"" help:"Check every record of a store, or repair it."`
	Backup   backupCommand   `cmd:"" help:"Write a store, or its changes since the last backup, to one file."`
	Restore  restoreCommand  `cmd:"" help:"Make a store from a full backup and its later ones."`
	Compact  compactCommand  `cmd:"" help:"Fold later changes into the blocks and free their room."`
	Worker   workerCommand   `cmd:"" help:"Do a step of a cleaning for another program, such as an executor of Apache Spark."`
}

const description = `Finds wrong labels in graphs, including graphs too large for memory.

Import your graph with its labels. Import the predictions of your classifier too, or let clean train the built-in ` +
	`one. Then clean the graph. An audit tells how many labels are wrong; a review puts them right. New here? ` +
	`Begin with the demo; it takes less than a minute.

    %[1]s demo
    %[1]s import my.graph --nodes nodes.csv --edges edges.csv
    %[1]s clean my.graph
    %[1]s audit my.graph
    %[1]s review my.graph`

// A streams has the streams of a command: it writes data to out, and messages to people to err.
type streams struct {
	ctx context.Context // of the command; it ends the wait for the other end of a pipe
	in  io.Reader
	out io.Writer
	messages
	program   string // as the user calls it, for advice
	progress  *progress
	stages    stageLog      // of the command
	args      []string      // the command line, without the program
	command   string        // that runs, such as clean; "" before it is known
	arguments *kong.Context // the parsed command line
	asked     *askedJob     // nil except for a command that another process asked for
}

// Main runs one command line, without the program's name, and returns its exit code:
//
//	0    done
//	1    failed: a file or a store is not as it should be, a statement or a write failed, check found problems
//	2    wrong usage: unknown commands or flags, or flags that cannot be meant together
//	3    the verdict of gate: the store may not pass
//	130  interrupted: ctx ended. In main, Ctrl-C, SIGTERM and SIGHUP end it
//
// Every command stops within a second of the end of ctx, also while it waits for input, for the other end of a pipe or
// for an answer. It removes incomplete files, and says what is left. At the prompt of shell, Ctrl-C ends only the
// statement. Exception: if in, out or errOut is no file, a running Read or Write of it ends first.
func Main(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	out, errOut = stream.NewWriter(ctx, out), stream.NewWriter(ctx, errOut)
	s := &streams{
		ctx: ctx, in: in, out: out, messages: messages{err: errOut}, program: programName(), progress: new(progress),
		args: args,
	}
	return s.run(args)
}

// run runs one command line.
func (s *streams) run(args []string) int {
	s.stages.began = time.Now()
	var cli commandLine
	exited := false // --help or --version has been answered
	writer := &stickyWriter{out: s.out}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parser := s.parser(&cli, args, s.program, writer, func(int) { exited = true })
	arguments, err := parser.Parse(args)
	if exited {
		return s.exitCode(writer.err)
	}
	parse, _ := errors.AsType[*kong.ParseError](err)
	if parse != nil && parse.Context != nil {
		parse.Context.Apply() //nolint:errcheck // flags before the error say how it is told
	}
	s.follow(cli.messageFlags)
	if s.asked == nil {
		s.progress = s.newProgress()
	}
	s.out, s.err = barless{s.out, s.progress}, barless{s.err, s.progress}
	if err != nil {
		if parse != nil && parse.Context != nil && parse.Context.Selected() != nil {
			s.command = parse.Context.Selected().Name
		}
		return s.exitCode(usagef("%v", err))
	}
	s.command = strings.Fields(arguments.Command())[0]
	if s.arguments = arguments; s.asked != nil {
		err = s.asked.check(&cli, s.command)
	} else {
		err = checkRepeated(arguments)
	}
	if err == nil {
		s.stages.end("start")
		err = arguments.Run()
	}
	if err == nil {
		if err = s.stages.write(s); err != nil {
			err = fmt.Errorf("%s is done, but the file of --stats was not written: %w", s.command, err)
		}
	}
	return s.exitCode(err)
}

// grammar is the part of the grammar that a parser of some arguments needs: the command that they begin with, or all. A
// parser of all commands takes longer to make than many a command takes.
func (c *commandLine) grammar(args []string) (grammar any, commands []kong.Option) {
	fields := reflect.ValueOf(c).Elem()
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		name := strings.ToLower(field.Name)
		if _, command := field.Tag.Lookup("cmd"); command && len(args) > 0 && name == args[0] {
			one := kong.DynamicCommand(name, field.Tag.Get("help"), "", fields.Field(i).Addr().Interface())
			return &c.commonFlags, []kong.Option{one}
		}
	}
	return c, nil
}

// parser parses command lines of a program of a name: those that begin as args, or all without args. It prints help to
// out, and calls exit after that.
func (s *streams) parser(cli *commandLine, args []string, program string, out io.Writer, exit func(int)) *kong.Kong {
	grammar, options := cli.grammar(args)
	parser, err := kong.New(grammar, append(options,
		kong.Name(program),
		kong.Description(fmt.Sprintf(description, program)),
		kong.Writers(out, s.err),
		kong.Exit(exit),
		kong.Vars{
			"seed":    strconv.Itoa(query.DefaultSeed),
			"methods": strings.Join(evaluate.MethodNames(), ", "),
			"noises":  strings.Join(evaluate.NoiseKinds(), ", "),
			"threads": strconv.Itoa(runtime.NumCPU()),
			"address": anyPort,
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(s.tellingWaits(s.ctx), (*context.Context)(nil)),
		kong.Bind(s),
	)...)
	if err != nil {
		panic(err) // the struct tags above are wrong
	}
	for _, command := range parser.Model.Leaves(false) {
		// Examples can be copied as they are.
		for _, before := range []string{"    ", "| "} {
			command.Detail = strings.ReplaceAll(command.Detail, before+"graphcleaner ", before+program+" ")
		}
	}
	return parser
}

// checkRepeated returns an error if a flag of one value is given twice: the last would count and the others be lost
// without a word.
func checkRepeated(arguments *kong.Context) error {
	flags := map[*kong.Flag]bool{}
	for _, at := range arguments.Path {
		if at.Flag == nil || at.Flag.IsCumulative() {
			continue
		}
		if flags[at.Flag] {
			return usagef("--%s is given twice, want it once", at.Flag.Name)
		}
		flags[at.Flag] = true
	}
	return nil
}

// A stickyWriter remembers the first error of writing, which who writes help drops or takes for a wrong flag.
type stickyWriter struct {
	out io.Writer
	err error
}

func (w *stickyWriter) Write(p []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
	return len(p), nil
}

// exitCode prints how a command ended.
func (s *streams) exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	code := exitFailed
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case ok && exit.msg == "":
		return exit.code
	case ok:
		code = exit.code
	case errors.Is(err, cleaner.ErrOptions) && s.command != "shell":
		code = exitUsage
	case errors.Is(err, context.Canceled) && s.ctx.Err() != nil:
		message := "interrupted"
		var interruption *interruptedError
		if errors.Is(err, holder.ErrSilent) {
			message += ": " + holder.ErrSilent.Error()
		} else if errors.As(err, &interruption) {
			message += ": " + interruption.state
		}
		s.fail(message)
		return exitInterrupted
	}
	if code != exitUsage {
		s.fail(wording.Plain(err))
		return code
	}
	help := strings.TrimSpace(s.program+" "+s.command) + " --help"
	if s.fail(wording.Plain(err), "help", help); s.log == nil {
		s.sayError("Run %q for help.", help)
	}
	return code
}

// printf writes to standard output what people should know of what was done: names of files and stores, and no data.
func (s *streams) printf(format string, args ...any) error {
	_, err := fmt.Fprint(s.out, print.EscapeLines(fmt.Sprintf(format, args...)))
	return err
}

// printDone writes a line on what was done to a store or a file, with the time that the command has taken.
func (s *streams) printDone(to, format string, args ...any) error {
	return s.printf("%s: %s, %.1f s\n", to, fmt.Sprintf(format, args...), time.Since(s.stages.began).Seconds())
}

// An exitError says why a command ends with another code than exitFailed. Without a message, the process that ran the
// command has said it.
type exitError struct {
	code int
	msg  string
}

func (e *exitError) Error() string { return e.msg }

// usagef is the error of a command line that cannot be meant.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// An interruptedError says what a command that was interrupted leaves behind.
type interruptedError struct {
	state string
	err   error
}

func (e *interruptedError) Error() string { return e.err.Error() }
func (e *interruptedError) Unwrap() error { return e.err }

// leaving says what is left behind if err is an interruption, or a full disk.
func leaving(err error, format string, args ...any) error {
	state := fmt.Sprintf(format, args...)
	if errors.Is(err, context.Canceled) {
		return &interruptedError{state: state, err: err}
	}
	if errors.Is(err, kv.ErrNoSpace) || errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w; make room: %s", err, state)
	}
	return err
}

// programName is how the user calls the program: go run keeps what it builds in a cache of that name.
func programName() string {
	path, err := os.Executable()
	if err == nil && strings.Contains(filepath.ToSlash(path), "/go-build") {
		return "go run ."
	}
	if strings.ContainsRune(os.Args[0], filepath.Separator) && !filepath.IsAbs(os.Args[0]) {
		return os.Args[0]
	}
	return filepath.Base(os.Args[0])
}

// A versionFlag prints the version and ends the program.
type versionFlag bool

// BeforeReset is called by kong where the flag is set.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	fmt.Fprintln(app.Stdout, build())
	app.Exit(exitDone)
	return nil
}

// build is the version of this executable as Go has stamped it: a release, a commit, or (devel) of sources outside a
// repository.
func build() string {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return "graphcleaner " + cmp.Or(version, "(devel)")
}
