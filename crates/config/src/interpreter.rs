//! Places that would be code: in what a shell or another interpreter is told to run on its command line, and where a
//! program stands that another one starts.
//!
//! This catches the template that is written without a thought, such as `sh -c "grep {word} notes"`. It cannot know every
//! program that runs what it is given.

use crate::template::Template;

/// A place where no value may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misplaced<'a> {
    /// In code that the program runs; what follows the code would be data.
    Code(&'a str),
    /// In words that a shell puts together and reads, so that nothing among them is data.
    Joined(&'a str),
    /// Instead of the program that is started.
    Program(&'a str),
}

/// A program whose command line is known.
struct Known {
    /// Versions may follow a name.
    names: &'static [&'static str],
    /// Letters of the options whose argument is code.
    code: &'static str,
    /// Letters of the options that have another argument.
    valued: &'static str,
    operands: Operands,
}

/// What a program makes of the arguments that are no options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// A script and its arguments. Options of the interpreter stand before it.
    Script,
    /// The same, and an interpreter that takes the letter of its code among others: `-ec`.
    ShellScript,
    /// Code, unless an option has given it; then data.
    CodeFirst,
    /// Data; options may follow.
    Data,
    /// So many words, and then a command line. Variables may be set before it.
    Command(usize),
    /// So many words, and then words that a shell reads.
    Joined(usize),
    /// Data, and command lines behind `-exec` and its like.
    Search,
    /// A command line somewhere behind `run` or `exec`.
    Container,
}

const fn known(
    names: &'static [&'static str],
    code: &'static str,
    valued: &'static str,
    operands: Operands,
) -> Known {
    Known { names, code, valued, operands }
}

static KNOWN: [Known; 24] = [
    known(
        &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "csh", "tcsh", "fish", "pwsh", "powershell"],
        "c",
        "oO",
        Operands::ShellScript,
    ),
    known(&["python", "pypy"], "c", "WX", Operands::Script),
    known(&["perl", "ruby", "lua", "luajit"], "eE", "IrC", Operands::Script),
    known(&["node", "nodejs", "bun", "deno"], "ep", "rC", Operands::Script),
    known(&["php"], "r", "dc", Operands::Script),
    known(&["awk", "gawk", "mawk", "nawk"], "e", "fFvEil", Operands::CodeFirst),
    known(&["sed", "gsed", "ssed"], "e", "fl", Operands::CodeFirst),
    known(&["find", "gfind"], "", "", Operands::Search),
    known(&["ssh", "autossh"], "", "bBcDEeFIiJLlmMOopPQRSWw", Operands::Joined(1)),
    known(&["watch"], "", "nq", Operands::Joined(0)),
    known(&["parallel"], "", "jPaSnNLIdE", Operands::Joined(0)),
    known(&["su", "script"], "c", "gGswTIOBEo", Operands::Data),
    known(&["env"], "S", "uCP", Operands::Command(0)),
    known(&["sudo", "doas"], "", "CcDghpRrTtUu", Operands::Command(0)),
    known(&["runuser"], "c", "ugGsw", Operands::Command(0)),
    known(&["nohup", "setsid", "busybox", "toybox"], "", "", Operands::Command(0)),
    known(&["nice", "ionice"], "", "ncpPu", Operands::Command(0)),
    known(&["stdbuf"], "", "ioe", Operands::Command(0)),
    known(&["time"], "", "fo", Operands::Command(0)),
    known(&["xargs", "gxargs"], "", "IJRLnPsdEa", Operands::Command(0)),
    known(&["timeout", "gtimeout"], "", "sk", Operands::Command(1)),
    known(&["chroot", "taskset", "chrt", "gosu", "su-exec"], "", "", Operands::Command(1)),
    known(&["flock"], "c", "wE", Operands::Command(1)),
    known(&["docker", "podman", "nerdctl", "kubectl", "oc"], "", "", Operands::Container),
];

/// Long options whose argument is code.
const LONG_CODE: [&str; 7] =
    ["--command", "--eval", "--print", "--expression", "--source", "--split-string", "--session-command"];

/// Long options whose argument may be the next one.
const LONG_VALUED: [&str; 16] = [
    "--user",
    "--group",
    "--host",
    "--chdir",
    "--unset",
    "--signal",
    "--kill-after",
    "--adjustment",
    "--class",
    "--max-args",
    "--max-procs",
    "--delimiter",
    "--arg-file",
    "--file",
    "--assign",
    "--field-separator",
];

/// Options of `find` behind which a command line stands.
const SEARCH_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// A program and its arguments.
type CommandLine<'t, 'a> = (&'a str, &'t [&'a Template]);

/// The first place that would be code. The program that runs it may stand behind others: `env`, `sudo`, `docker exec`.
pub(crate) fn misplaced<'a>(
    command: &'a str,
    args: impl Iterator<Item = &'a Template>,
) -> Option<Misplaced<'a>> {
    let args: Vec<&Template> = args.collect();
    let mut lines: Vec<CommandLine<'_, 'a>> = vec![(command, &args)];
    while let Some((program, args)) = lines.pop() {
        let found = if let Some(known) = Known::named(program) {
            known.look_through(args, &mut lines)
        } else {
            lines.extend(interpreter_in(args));
            None
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// What a program that is not known may start: any interpreter that it is given the name of.
fn interpreter_in<'t, 'a>(args: &'t [&'a Template]) -> Option<CommandLine<'t, 'a>> {
    command_in(args, |known| matches!(known.operands, Operands::Script | Operands::ShellScript))
}

/// The first command line among arguments whose program is one of those that `is_meant` takes.
fn command_in<'t, 'a>(
    args: &'t [&'a Template],
    is_meant: impl Fn(&Known) -> bool,
) -> Option<CommandLine<'t, 'a>> {
    let place = args.iter().position(|arg| literal(arg).and_then(Known::named).is_some_and(&is_meant))?;
    Some((args.get(place)?.begin(), args.get(place + 1..)?))
}

/// The text of an argument that is the same in each call.
fn literal(template: &Template) -> Option<&str> {
    template.places().next().is_none().then(|| template.begin())
}

/// What an option says about the arguments behind it.
enum After {
    /// Nothing.
    Nothing,
    /// The next one belongs to it.
    Value,
    /// The next one is code.
    Code,
    /// Code stands in the option itself.
    CodeWithin,
}

impl Known {
    fn named(program: &str) -> Option<&'static Self> {
        let name = program.rsplit('/').next().unwrap_or_default();
        let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        KNOWN.iter().find(|known| known.names.contains(&name))
    }

    /// The first place among the arguments that would be code; adds the command lines that stand among them.
    fn look_through<'t, 'a>(
        &self,
        args: &'t [&'a Template],
        lines: &mut Vec<CommandLine<'t, 'a>>,
    ) -> Option<Misplaced<'a>> {
        match self.operands {
            Operands::Search => return searched(args, lines),
            Operands::Container => return contained(args, lines),
            _ => {}
        }
        let (mut operands, mut has_code, mut is_code_next, mut options_are_over) = (0, false, false, false);
        let mut rest = args.iter();
        while let Some(template) = rest.next() {
            let (begin, place) = (template.begin(), template.places().next());
            if !options_are_over && begin.len() > 1 && begin.starts_with(['-', '+']) {
                options_are_over = begin == "--" && !is_code_next;
                match (self.after(begin), place) {
                    // `-e{x}` and `--eval={x}`.
                    (After::Code | After::CodeWithin, Some(place)) => return Some(Misplaced::Code(place)),
                    (After::Code, None) => is_code_next = true,
                    (After::CodeWithin, None) => has_code = true,
                    (After::Value, None) => {
                        let value = rest.next();
                        if let Some(place) = value.and_then(|value| self.commanding(begin, value)) {
                            return Some(Misplaced::Joined(place));
                        }
                    }
                    (After::Value | After::Nothing, Some(_)) => {
                        if let Some(place) = self.commanding(begin, template) {
                            return Some(Misplaced::Joined(place));
                        }
                    }
                    (After::Nothing, None) => {}
                }
                has_code |= is_file(begin);
                continue;
            }
            let is_code = std::mem::take(&mut is_code_next)
                || self.operands == Operands::CodeFirst && operands == 0 && !has_code;
            if let (true, Some(place)) = (is_code, place) {
                return Some(Misplaced::Code(place));
            }
            has_code |= is_code;
            match self.operands {
                // What follows the code or the script are its arguments.
                Operands::Script | Operands::ShellScript => {
                    lines.extend(interpreter_in(rest.as_slice()));
                    return None;
                }
                Operands::Command(_) if is_code => return None,
                Operands::Command(_) if operands == 0 && begin.contains('=') => continue,
                Operands::Command(before) if operands == before => {
                    if let Some(place) = place {
                        return Some(Misplaced::Program(place));
                    }
                    lines.push((begin, rest.as_slice()));
                    return None;
                }
                // GNU Parallel: what follows is data for the command before it, or the commands themselves.
                Operands::Joined(0) if begin.starts_with(":::") => {
                    let mut rest = rest.flat_map(|template| template.places());
                    return rest.next().filter(|_| operands == 0).map(Misplaced::Joined);
                }
                Operands::Joined(before) if operands >= before => {
                    if let Some(place) = place {
                        return Some(Misplaced::Joined(place));
                    }
                }
                _ => {}
            }
            operands += 1;
            // Options of the command line that a shell reads are words of it.
            options_are_over |= matches!(self.operands, Operands::Joined(before) if operands > before);
        }
        None
    }

    /// A place in a setting of `ssh` that is a command or may be any setting: `-o ProxyCommand={x}`, `-o {x}`.
    fn commanding<'a>(&self, option: &str, value: &'a Template) -> Option<&'a str> {
        let is_setting = matches!(self.operands, Operands::Joined(_)) && option.starts_with("-o");
        let name = value.begin().trim_start_matches("-o").trim_start().to_ascii_lowercase();
        value.places().next().filter(|_| is_setting && (name.is_empty() || name.contains("command")))
    }

    /// What follows an option.
    fn after(&self, option: &str) -> After {
        if let Some(rest) = LONG_CODE.iter().find_map(|long| option.strip_prefix(*long)) {
            return match rest {
                "" | "=" => After::Code,
                _ if rest.starts_with('=') => After::CodeWithin,
                _ => After::Nothing,
            };
        }
        if LONG_VALUED.contains(&option) {
            return After::Value;
        }
        let letters = option.get(1..).filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        // The last of several letters has the argument; shells take it for any of them.
        let is_shell = self.operands == Operands::ShellScript;
        let last = |some: &str| letters.ends_with(|letter| some.contains(letter));
        if last(self.code) || is_shell && letters.to_ascii_lowercase().contains('c') {
            After::Code
        } else if letters.starts_with(|letter| self.code.contains(letter)) {
            After::CodeWithin
        } else if last(self.valued) && !letters.starts_with(|letter| self.valued.contains(letter))
            || letters.len() == 1 && last(self.valued)
        {
            After::Value
        } else {
            After::Nothing
        }
    }
}

/// Whether an option names a file that code is read from, so that no argument is code.
fn is_file(option: &str) -> bool {
    option.starts_with("-f") || option.ends_with('f') || option.starts_with("--file")
}

/// `find`: looks for the command lines among its arguments.
fn searched<'t, 'a>(args: &'t [&'a Template], lines: &mut Vec<CommandLine<'t, 'a>>) -> Option<Misplaced<'a>> {
    let mut rest = args;
    while let Some(place) =
        rest.iter().position(|arg| literal(arg).is_some_and(|text| SEARCH_RUNS.contains(&text)))
    {
        rest = rest.get(place + 1..).unwrap_or_default();
        let end = rest.iter().position(|arg| matches!(literal(arg), Some(";" | "+"))).unwrap_or(rest.len());
        let (line, behind) = rest.split_at(end);
        if let Some((program, args)) = line.split_first() {
            if let Some(place) = program.places().next() {
                return Some(Misplaced::Program(place));
            }
            lines.push((program.begin(), args));
        }
        rest = behind;
    }
    None
}

/// `docker exec` and its like: finds a program that is known behind them, or the one behind `--`.
fn contained<'t, 'a>(
    args: &'t [&'a Template],
    lines: &mut Vec<CommandLine<'t, 'a>>,
) -> Option<Misplaced<'a>> {
    let runs = args.iter().position(|arg| matches!(literal(arg), Some("exec" | "run")))?;
    let args = args.get(runs + 1..)?;
    let Some(dashes) = args.iter().position(|arg| literal(arg) == Some("--")) else {
        lines.extend(command_in(args, |_| true));
        return None;
    };
    let (program, args) = args.get(dashes + 1..)?.split_first()?;
    if let Some(place) = program.places().next() {
        return Some(Misplaced::Program(place));
    }
    lines.push((program.begin(), args));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expected: Option<Misplaced<'_>>) {
        let templates: Vec<Template> = line[1..].iter().map(|text| Template::parse(text).unwrap()).collect();
        assert_eq!(misplaced(line[0], templates.iter()), expected, "{line:?}");
    }

    const CODE: Option<Misplaced<'_>> = Some(Misplaced::Code("x"));
    const JOINED: Option<Misplaced<'_>> = Some(Misplaced::Joined("x"));
    const PROGRAM: Option<Misplaced<'_>> = Some(Misplaced::Program("x"));

    #[test]
    fn scripts_of_awk_and_sed_are_code_and_their_files_are_not() {
        check(&["awk", "{x}", "notes"], CODE);
        check(&["gawk", "-F:", "{{print {x}}}", "notes"], CODE);
        check(&["mawk", "-v", "n=1", "{x}"], CODE);
        check(&["gawk", "-e", "{x}", "notes"], CODE);
        check(&["gawk", "--source={x}", "notes"], CODE);
        check(&["sed", "-n", "{x}p", "notes"], CODE);
        check(&["sed", "-e", "p", "-e", "s/{x}//", "notes"], CODE);
        check(&["sed", "-ne", "{x}", "notes"], CODE);
        check(&["sed", "--expression=s/{x}//", "notes"], CODE);
        check(&["awk", "{{print $1}}", "{x}"], None);
        check(&["awk", "-v", "word={x}", "$1 == word", "notes"], None);
        check(&["awk", "-f", "sum.awk", "{x}"], None);
        check(&["awk", "-fsum.awk", "{x}"], None);
        check(&["sed", "-i.bak", "s/a/b/", "{x}"], None);
        check(&["sed", "-e", "s/a/b/", "{x}"], None);
        check(&["sed", "-n", "-f", "script.sed", "{x}"], None);
        check(&["sed", "--file=script.sed", "{x}"], None);
    }

    #[test]
    fn wrappers_are_looked_through() {
        check(&["env", "LANG=C", "-u", "HOME", "sh", "-c", "{x}"], CODE);
        check(&["env", "-i", "A={y}", "awk", "{x}"], CODE);
        check(&["env", "-S", "{x}"], CODE);
        check(&["sudo", "-u", "root", "sed", "{x}"], CODE);
        check(&["sudo", "--user", "root", "sed", "{x}"], CODE);
        check(&["nohup", "timeout", "-k", "1", "5s", "nice", "-n", "5", "awk", "{x}"], CODE);
        check(&["stdbuf", "-oL", "xargs", "-0", "-n", "1", "sh", "-c", "{x}"], CODE);
        check(&["flock", "/tmp/lock", "-c", "{x}"], CODE);
        check(&["busybox", "awk", "{x}"], CODE);
        check(&["env", "{x}"], PROGRAM);
        check(&["sudo", "-u", "root", "{x}"], PROGRAM);
        check(&["timeout", "5", "{x}"], PROGRAM);
        check(&["xargs", "-n", "1", "{x}"], PROGRAM);
        check(&["su", "-", "ann", "-c", "{x}"], CODE);
        check(&["script", "-qc", "{x}", "out"], CODE);
        check(&["env", "LANG={x}", "sort", "{x}"], None);
        check(&["timeout", "{x}", "grep", "{x}", "notes"], None);
        check(&["sudo", "-u", "{x}", "id"], None);
        check(&["nice", "-n", "5", "grep", "-c", "{x}", "notes"], None);
        check(&["xargs", "-I", "{{}}", "grep", "{x}", "{{}}"], None);
        check(&["su", "{x}", "-c", "id"], None);
    }

    #[test]
    fn words_that_a_shell_puts_together_are_not_data() {
        check(&["ssh", "box", "ls", "{x}"], JOINED);
        check(&["ssh", "-p", "22", "box", "ls", "-l", "{x}"], JOINED);
        check(&["ssh", "box", "ls", "--color={x}"], JOINED);
        check(&["ssh", "-o", "ProxyCommand={x}", "box", "id"], JOINED);
        check(&["ssh", "-oproxycommand={x}", "box", "id"], JOINED);
        check(&["ssh", "-o", "{x}", "box", "id"], JOINED);
        check(&["watch", "-n", "1", "ls", "{x}"], JOINED);
        check(&["parallel", "gzip {x}", ":::", "a"], JOINED);
        check(&["parallel", ":::", "{x}"], JOINED);
        check(&["timeout", "5", "ssh", "box", "{x}"], JOINED);
        check(&["ssh", "-i", "key", "-p", "{x}", "-o", "User={x}", "{x}", "uptime"], None);
        check(&["parallel", "-j", "4", "gzip", "-k", ":::", "{x}"], None);
    }

    #[test]
    fn programs_that_others_start_are_looked_at() {
        check(&["find", ".", "-exec", "{x}", ";"], PROGRAM);
        check(&["find", ".", "-type", "f", "-execdir", "sh", "-c", "{x}", ";"], CODE);
        check(&["find", ".", "-exec", "true", ";", "-ok", "sed", "{x}", "{{}}", "+"], CODE);
        check(&["find", "{x}", "-name", "{x}", "-exec", "grep", "{x}", "{{}}", "+"], None);
        check(&["find", ".", "-exec", "ls", ";", "-name", "{x}"], None);
        check(&["docker", "run", "--rm", "image", "awk", "{x}"], CODE);
        check(&["kubectl", "exec", "pod", "--", "{x}"], PROGRAM);
        check(&["kubectl", "exec", "{x}", "--", "env", "sh", "-c", "{x}"], CODE);
        check(&["docker", "exec", "{x}", "ls", "{x}"], None);
        check(&["docker", "logs", "env", "{x}"], None);
        check(&["kubectl", "exec", "{x}", "--", "ls", "{x}"], None);
    }

    #[test]
    fn data_stays_data() {
        check(&["grep", "{x}", "notes"], None);
        check(&["grep", "-e", "{x}", "notes"], None);
        check(&["git", "log", "--author={x}", "--", "{x}"], None);
        check(&["git", "grep", "find", "{x}"], None);
        check(&["python3", "tool.py", "{x}"], None);
        check(&["sh", "-c", "grep -- \"$1\" notes", "sh", "{x}"], None);
        check(&["perl", "-eprint", "{x}"], None);
        check(&["perl", "-eprint {x}"], CODE);
    }
}
