# Sourced by the scripts beside it.

# shellcheck disable=SC2034 # read by the scripts
duckdb=2.0.1 # the version that all of them compare with

# read_options ARGUMENTS… sets a variable for each option that the text of usage lists, with _ for -: to its value, or
# to yes where it takes none. What follows the options is left in the array arguments.
read_options() {
  local script=${0##*/} lines option variable
  lines=$(usage)
  while [ $# -gt 0 ]; do
    option=$1
    case $option in
    --help | -h)
      printf '%s\n' "$lines"
      exit
      ;;
    -*) ;;
    *) break ;;
    esac
    variable=${option#--}
    variable=${variable//-/_}
    if [[ $option =~ ^--[a-z-]+$ ]] && grep -qE "^  $option +[a-z]" <<<"$lines"; then
      declare -g "$variable=yes"
      shift
    elif [[ ! $option =~ ^--[a-z-]+$ ]] || ! grep -qE "^  $option [A-Z]+ " <<<"$lines"; then
      echo "$script: unknown option $option" >&2
      printf '%s\n' "$lines" >&2
      exit 2
    elif [ $# -lt 2 ]; then
      echo "$script: $option wants a value" >&2
      exit 2
    else
      declare -g "$variable=$2"
      shift 2
    fi
  done
  # shellcheck disable=SC2034 # read by the scripts
  arguments=("$@")
}

# no_arguments ends the script where something follows its options.
no_arguments() {
  [ ${#arguments[@]} -eq 0 ] && return
  echo "${0##*/}: unexpected ${arguments[0]}" >&2
  usage >&2
  exit 2
}
