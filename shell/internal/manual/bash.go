package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Bash returns the completions of bash 4 and later.
func (p *Program) Bash() string {
	var b strings.Builder
	name := p.Model.Name
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Completions of %s for bash 4 and later.", name)
	line(`_%s() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flag= command= place=0 flags= offer= i
	COMPREPLY=()
	# Bash makes three words of --flag=value.
	if [[ $cur == '=' ]]; then
		flag=$prev cur=
	elif [[ $prev == '=' ]]; then
		flag=${COMP_WORDS[COMP_CWORD-2]}
	elif [[ $prev == -* ]]; then
		flag=$prev
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		'=') ((++i)) ;;
		%s)
			[[ ${COMP_WORDS[i+1]} == '=' ]] || ((++i))
			;;
		-*) ;;
		*) if [[ -z $command ]]; then command=${COMP_WORDS[i]}; else ((++place)); fi ;;
		esac
	done
	case $command in`, name, strings.Join(p.valueFlags(), " | "))
	line("\t'')")
	p.bashFlags(line, p.Model.Node)
	var commands []string
	for _, c := range p.commands() {
		commands = append(commands, c.Name)
	}
	line("\t\tplace=%s ;;", bashOffer(listed, commands))
	for _, c := range p.commands() {
		line("\t%s)", c.Name)
		p.bashFlags(line, c)
		line("\t\tcase $place in")
		for i, a := range c.Positional {
			at := fmt.Sprint(i)
			if a.IsCumulative() {
				at = "*"
			}
			line("\t\t%s) place=%s ;;", at, bashOffer(p.kindOf(a), p.Values(a)))
		}
		if len(c.Positional) == 0 || !c.Positional[len(c.Positional)-1].IsCumulative() {
			line("\t\t*) place= ;;")
		}
		line("\t\tesac ;;")
	}
	line(`	*) return ;;
	esac
	if [[ -z $flag && $cur == -* ]]; then
		offer="words $flags"
	elif [[ -z $flag ]]; then
		offer=$place
	fi
	case $offer in
	'words '*) COMPREPLY=($(compgen -W "${offer#words }" -- "$cur")) ;;
	files) compopt -o default ;;
	directories) compopt -o dirnames ;;
	esac
}
complete -F _%s %s`, name, name)
	return b.String()
}

// bashFlags has a flag of a command offer its values.
func (p *Program) bashFlags(line func(string, ...any), c *kong.Node) {
	var all []string
	line("\t\tcase $flag in")
	for _, flag := range p.flagsOf(c) {
		all = append(all, names(flag)[0])
		if hasValue(flag) {
			line("\t\t%s) offer=%s ;;", strings.Join(names(flag), " | "), bashOffer(p.kindOf(flag.Value), p.Values(flag.Value)))
		}
	}
	line("\t\t*) flag= ;;")
	line("\t\tesac")
	line("\t\tflags='%s'", strings.Join(all, " "))
}

// bashOffer is what the function offers for a kind of value.
func bashOffer(k kind, values []string) string {
	return map[kind]string{free: "''", listed: "'words " + strings.Join(values, " ") + "'", files: "files", directories: "directories"}[k]
}

// valueFlags are the flags that have a value, in any command.
func (p *Program) valueFlags() (all []string) {
	for _, c := range append(p.commands(), p.Model.Node) {
		for _, flag := range c.Flags {
			for _, name := range names(flag) {
				if hasValue(flag) && !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}
