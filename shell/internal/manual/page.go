package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A Line is a term with what it means.
type Line struct{ Term, Meaning string }

// Page returns the manual page in roff, for man.
func (p *Program) Page(version string, exitStatus []Line) string {
	w := &pageWriter{}
	name, _, _ := strings.Cut(p.Model.Help, ".")
	w.macro("TH", strings.ToUpper(p.Model.Name), "1", "", version)
	w.macro("SH", "NAME")
	w.line(p.Model.Name + " - " + strings.ToLower(name[:1]) + name[1:])
	w.macro("SH", "SYNOPSIS")
	for _, c := range p.commands() {
		w.raw(".PD 0", ".PP")
		w.synopsis(p.Model.Name, c)
	}
	w.raw(".PD")
	w.macro("SH", "DESCRIPTION")
	w.text(p.Model.Help)
	w.macro("SH", "COMMANDS")
	for _, c := range p.commands() {
		w.macro("SS", c.Name)
		w.synopsis(p.Model.Name, c)
		w.raw(".PP")
		w.text(c.Help)
		w.raw(".PP")
		w.text(c.Detail)
		for _, argument := range c.Positional {
			w.term(argument.Name, argument.Help)
		}
		for _, flag := range c.Flags {
			w.flag(flag)
		}
	}
	w.macro("SH", "FLAGS OF EVERY COMMAND")
	for _, flag := range p.shared() {
		w.flag(flag)
	}
	w.macro("SH", "EXIT STATUS")
	for _, l := range exitStatus {
		w.term(l.Term, l.Meaning)
	}
	return w.out.String()
}

// A pageWriter writes roff.
type pageWriter struct{ out strings.Builder }

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// escape has roff print a text as it is. A line of text may begin with a point.
func escape(text string) string {
	var ascii strings.Builder
	for _, r := range roffEscapes.Replace(text) {
		if r < 0x80 {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\[u%04X]`, r)
		}
	}
	whole := strings.ReplaceAll(ascii.String(), ` \-`, ` \%\-`) // flags are not divided at the end of a line
	if strings.HasPrefix(text, ".") {
		return `\&` + whole
	}
	return whole
}

func (w *pageWriter) raw(lines ...string) {
	for _, line := range lines {
		w.out.WriteString(line + "\n")
	}
}

func (w *pageWriter) line(text string) { w.raw(escape(text)) }

func (w *pageWriter) macro(name string, arguments ...string) {
	w.out.WriteString("." + name)
	for _, a := range arguments {
		fmt.Fprintf(&w.out, ` "%s"`, escape(a))
	}
	w.out.WriteByte('\n')
}

// term writes a term with its meaning below.
func (w *pageWriter) term(term, meaning string) {
	w.raw(".TP")
	w.raw(`\fB` + escape(term) + `\fR`)
	w.line(meaning)
}

func (w *pageWriter) flag(flag *kong.Flag) {
	names := names(flag)
	slices.Reverse(names) // the short one first
	for i := range names {
		names[i] = `\fB` + escape(names[i]) + `\fR`
	}
	term := strings.Join(names, ", ")
	if hasValue(flag) {
		term += ` \fI` + escape(flag.FormatPlaceHolder()) + `\fR`
	}
	w.raw(".TP", term)
	w.line(flag.Help)
}

// synopsis writes how a command is called.
func (w *pageWriter) synopsis(program string, command *kong.Node) {
	line := `\fB` + escape(program+" "+command.Name) + `\fR`
	for _, a := range command.Positional {
		word := `\fI` + escape(a.Name) + `\fR`
		if a.Tag.Optional {
			word = "[" + word + "]"
		}
		line += " " + word
	}
	for _, flag := range command.Flags {
		if flag.Required && flag.Xor == nil {
			line += ` \fB` + escape("--"+flag.Name) + `\fR \fI` + escape(flag.FormatPlaceHolder()) + `\fR`
		}
	}
	w.raw(line + ` [\fIflags\fR]`)
}

// text writes the paragraphs of a help text. Lines behind four blanks are an example, and those behind "  - " items of a list.
func (w *pageWriter) text(text string) {
	example, apart := false, false
	for line := range strings.SplitSeq(text, "\n") {
		shown, is := strings.CutPrefix(line, "    ")
		if is != example {
			example = is
			w.raw(map[bool]string{true: exampleBegins, false: exampleEnds}[is])
		}
		item, isItem := strings.CutPrefix(line, "  - ")
		switch {
		case is:
			w.line(shown)
		case isItem:
			w.raw(`.IP \(bu 2`)
			w.line(item)
		case line != "":
			if apart {
				w.raw(".PP")
			}
			w.line(line)
		}
		apart = line == ""
	}
	if example {
		w.raw(exampleEnds)
	}
}

// Examples are indented, and keep their lines.
const (
	exampleBegins = ".sp\n.RS 4\n.EX"
	exampleEnds   = ".EE\n.RE"
)
