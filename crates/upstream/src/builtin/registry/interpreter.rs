//! Places that would be code: in what a shell or another interpreter is told to run on its command line.
//!
//! This catches the template that is written without a thought, such as `sh -c "grep {word} notes"`. It cannot know every
//! program that runs what it is given.

use super::command::Template;

/// Programs that run code which stands on their command line.
struct Interpreter {
    /// Versions may follow a name.
    names: &'static [&'static str],
    /// Letters of the options whose argument is code.
    code: &'static str,
    /// Letters of the options that have another argument.
    others: &'static str,
}

const fn interpreter(
    names: &'static [&'static str],
    code: &'static str,
    others: &'static str,
) -> Interpreter {
    Interpreter { names, code, others }
}

const INTERPRETERS: [Interpreter; 5] = [
    interpreter(
        &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "csh", "tcsh", "fish", "pwsh", "powershell"],
        "c",
        "oO",
    ),
    interpreter(&["python", "pypy"], "c", "WX"),
    interpreter(&["perl", "ruby", "lua", "luajit"], "eE", "IrC"),
    interpreter(&["node", "nodejs", "bun", "deno"], "ep", "rC"),
    interpreter(&["php"], "r", "dc"),
];

/// Long options whose argument is code.
const LONG: [&str; 3] = ["--command", "--eval", "--print"];

/// What the next argument of a command line is.
enum Next {
    /// Nothing that is known.
    Anything,
    /// An option of an interpreter, or its script.
    OptionOf(&'static Interpreter),
    /// Something that belongs to the option before it.
    ValueOf(&'static Interpreter),
    /// Code, or more options before it.
    CodeOf(&'static Interpreter),
}

/// The first place that stands in code. The interpreter may stand behind other programs: `env`, `sudo`, `docker exec`.
pub(super) fn place_in_code<'a>(command: &str, args: impl Iterator<Item = &'a Template>) -> Option<&'a str> {
    let mut next = named(command);
    for template in args {
        let (begin, place) = (template.begin(), template.places().next());
        let is_option = begin.starts_with(['-', '+']);
        next = match next {
            Next::OptionOf(of) | Next::CodeOf(of) if is_option => {
                let is_code_next = matches!(next, Next::CodeOf(_));
                match (of.after(begin), place) {
                    // `-e{x}` and `--eval={x}`: code in the same argument.
                    (Next::CodeOf(_), Some(place)) => return Some(place),
                    (after @ Next::CodeOf(_), None) => after,
                    (_, _) if is_code_next => Next::CodeOf(of),
                    (after, _) => after,
                }
            }
            Next::CodeOf(_) => match place {
                Some(place) => return Some(place),
                // What follows the code are its arguments.
                None => Next::Anything,
            },
            Next::ValueOf(of) => Next::OptionOf(of),
            Next::OptionOf(_) | Next::Anything if place.is_some() => Next::Anything,
            Next::OptionOf(_) | Next::Anything => named(begin),
        };
    }
    None
}

/// What follows the name of a program.
fn named(program: &str) -> Next {
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.iter().find(|of| of.names.contains(&name)).map_or(Next::Anything, Next::OptionOf)
}

impl Interpreter {
    /// What follows an option.
    fn after(&'static self, option: &str) -> Next {
        if let Some(rest) = LONG.iter().find_map(|long| option.strip_prefix(*long)) {
            return if rest.is_empty() || rest == "=" { Next::CodeOf(self) } else { Next::OptionOf(self) };
        }
        let letters = option.get(1..).filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        // The last of several letters has the argument; shells take it for any of them.
        let is_shell = self.others == "oO";
        let last = |known: &str| letters.ends_with(|letter| known.contains(letter));
        if last(self.code) || is_shell && letters.to_ascii_lowercase().contains('c') {
            Next::CodeOf(self)
        } else if last(self.others) {
            Next::ValueOf(self)
        } else {
            Next::OptionOf(self)
        }
    }
}
