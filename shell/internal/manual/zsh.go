package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Zsh returns the completions of zsh, to be put into a file of fpath or to be read at its start.
func (p *Program) Zsh() string {
	var b strings.Builder
	name := p.Model.Name
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#compdef %s", name)
	line("# Completions of %s for zsh.", name)
	line("_%s() {", name)
	line("\tlocal curcontext=$curcontext state line")
	line("\tlocal -A opt_args")
	line("\t_arguments -C \\")
	for _, flag := range p.shared() {
		line("\t\t%s \\", p.zshFlag(flag))
	}
	line("\t\t'1:command:->command' '*::argument:->argument'")
	line("\tcase $state in")
	line("\tcommand)")
	line("\t\tlocal -a commands=(")
	for _, c := range p.commands() {
		line("\t\t\t%s", zshQuote(c.Name+":"+brief(c.Help)))
	}
	line("\t\t)")
	line("\t\t_describe command commands ;;")
	line("\targument)")
	line("\t\tcase $words[1] in")
	for _, c := range p.commands() {
		line("\t\t%s)", c.Name)
		b.WriteString("\t\t\t_arguments")
		for _, flag := range p.flagsOf(c) {
			fmt.Fprintf(&b, " \\\n\t\t\t\t%s", p.zshFlag(flag))
		}
		for i, a := range c.Positional {
			at := fmt.Sprint(i + 1)
			if a.IsCumulative() {
				at = "*"
			}
			fmt.Fprintf(&b, " \\\n\t\t\t\t%s", zshQuote(at+":"+a.Name+":"+zshOffer(p.kindOf(a), p.Values(a))))
		}
		line(" ;;")
	}
	line("\t\tesac ;;")
	line("\tesac")
	line("}")
	line(`if [[ $funcstack[1] == _%s ]]; then
	_%s "$@"
else
	compdef _%s %s
fi`, name, name, name, name)
	return b.String()
}

// zshFlag is how _arguments knows a flag.
func (p *Program) zshFlag(flag *kong.Flag) string {
	about := "[" + strings.NewReplacer("[", `\[`, "]", `\]`).Replace(brief(flag.Help)) + "]"
	sign := ""
	if hasValue(flag) {
		sign = "="
		about += ":" + strings.ReplaceAll(flag.FormatPlaceHolder(), ":", `\:`) + ":" + zshOffer(p.kindOf(flag.Value), p.Values(flag.Value))
	}
	again := ""
	if flag.IsCumulative() {
		again = "*"
	}
	if flag.Short == 0 {
		return zshQuote(again + "--" + flag.Name + sign + about)
	}
	short := "-" + string(flag.Short)
	shortSign := strings.Replace(sign, "=", "+", 1) // the value may also be the next word
	return fmt.Sprintf("'(%s --%s)'{%s%s,--%s%s}%s", short, flag.Name, short, shortSign, flag.Name, sign, zshQuote(about))
}

func zshOffer(k kind, values []string) string {
	return map[kind]string{free: " ", listed: "(" + strings.Join(values, " ") + ")", files: "_files", directories: "_directories"}[k]
}

// zshQuote is a text as one word of zsh.
func zshQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
