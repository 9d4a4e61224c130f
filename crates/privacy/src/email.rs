//! E-mail addresses, as people have them: no comments, no quoted names, no literal IP addresses.

use crate::characters::is_letter_or_digit;
use crate::view::View;

/// Characters before the `@` (RFC 5321, 4.5.3.1.1).
const MAX_LOCAL: usize = 64;
/// Characters of a label and of a domain (RFC 1035, 2.3.4).
const MAX_LABEL: usize = 63;
const MAX_DOMAIN: usize = 253;

/// Last labels that are no domains: names of files and of units, and the machine itself.
const NO_DOMAINS: &[&str] = &[
    "css",
    "gif",
    "html",
    "jpeg",
    "jpg",
    "js",
    "json",
    "localdomain",
    "localhost",
    "mount",
    "png",
    "scope",
    "service",
    "slice",
    "socket",
    "svg",
    "target",
    "timer",
    "webp",
];

/// Accounts of servers that serve repositories to everybody.
const SERVICE_ACCOUNTS: &[&str] = &["git", "gitea", "gitlab", "hg", "svn"];

/// The end of the address that begins at `start`.
pub(crate) fn end(view: &View<'_>, start: usize) -> Option<usize> {
    if !is_start(view, start) {
        return None;
    }
    let (local, domain) = read_local(view, start)?;
    let end = read_domain(view, domain)?;
    (!is_followed_by_code(view, end, &local) && !is_in_url(view, start)).then_some(end)
}

/// Whether a local part can begin here: at the first letter or digit after what is no part of one.
fn is_start(view: &View<'_>, start: usize) -> bool {
    if view.next(start).is_none_or(|glyph| !is_letter_or_digit(glyph.folded)) {
        return false;
    }
    let mut position = start;
    let mut dot = false;
    while let Some(glyph) = view.previous(position) {
        match glyph.folded {
            '.' if dot => return true,
            '.' | '_' | '+' | '-' | '\'' if glyph.raw.is_ascii() => dot = glyph.folded == '.',
            // Another dash between digits is a part of a number.
            '-' if view.next(start).is_some_and(|glyph| glyph.digit().is_some()) => {
                return view.previous(glyph.start).is_none_or(|glyph| glyph.digit().is_none());
            }
            other => return !is_letter_or_digit(other),
        }
        position = glyph.start;
    }
    true
}

/// The local part in lower case, and where the domain begins.
fn read_local(view: &View<'_>, start: usize) -> Option<(String, usize)> {
    let mut local = String::new();
    let mut position = start;
    for _ in 0..=MAX_LOCAL {
        let mut glyph = view.next(position)?;
        // Forms and logs have addresses as they stand in a query.
        if glyph.folded == '%' {
            let mut escape = String::new();
            for _ in 0..2 {
                glyph = view.next(glyph.end)?;
                escape.push(glyph.folded.to_ascii_uppercase());
            }
            glyph.folded = match escape.as_str() {
                "40" => '@',
                "2B" => '+',
                _ => return None,
            };
        }
        match glyph.folded {
            '@' | '.' if local.ends_with('.') => return None,
            '@' => return Some((local, glyph.end)),
            // A long dash stands between words, never in an address.
            '-' if !glyph.raw.is_ascii() => return None,
            '.' | '_' | '+' | '-' | '\'' => local.push(glyph.folded),
            letter if is_letter_or_digit(letter) => local.extend(letter.to_lowercase()),
            _ => return None,
        }
        position = glyph.end;
    }
    None
}

/// The end of the longest domain at a position: at least two labels, the last of them letters.
fn read_domain(view: &View<'_>, start: usize) -> Option<usize> {
    let mut best = None;
    let mut position = start;
    let mut length = 0;
    for index in 0.. {
        let (label, end) = read_label(view, position)?;
        length += label.chars().count() + 1;
        if label.is_empty() || length > MAX_DOMAIN + 1 {
            break;
        }
        if index > 0 && is_top_level(&label) {
            best = Some(end);
        }
        let Some(dot) = view.next(end).filter(|glyph| glyph.folded == '.') else { break };
        position = dot.end;
    }
    best.filter(|end| !view.word_continues(*end))
}

/// A label in lower case and its end; empty if none begins here. `None` if it is too long for a label.
fn read_label(view: &View<'_>, start: usize) -> Option<(String, usize)> {
    let mut label = String::new();
    let mut end = start;
    for _ in 0..=MAX_LABEL {
        let Some(glyph) = view.next(end) else { return Some((label, end)) };
        // A dash joins what stands on both its sides; two of them begin only an encoded name.
        let joins = || match view.next(glyph.end) {
            Some(next) if next.raw == '-' => label == "xn",
            next => next.is_some_and(|next| is_letter_or_digit(next.folded)),
        };
        if is_letter_or_digit(glyph.folded) {
            label.extend(glyph.folded.to_lowercase());
        } else if glyph.folded == '-' && glyph.raw.is_ascii() && !label.is_empty() && joins() {
            label.push('-');
        } else {
            return Some((label, end));
        }
        end = glyph.end;
    }
    None
}

fn is_top_level(label: &str) -> bool {
    let letters = label.chars().count();
    let word = (2..=24).contains(&letters) && label.chars().all(char::is_alphabetic);
    (word && !NO_DOMAINS.contains(&label)) || label.starts_with("xn--")
}

/// Whether what follows says that this is no address: a path on another machine, a call in code, a second `@`.
fn is_followed_by_code(view: &View<'_>, end: usize, local: &str) -> bool {
    let Some(glyph) = view.next(end) else { return false };
    let service = SERVICE_ACCOUNTS.contains(&local);
    match glyph.raw {
        '@' | '(' => true,
        // `git@host:path`, and `host:/path` as scp and shells write it. `address:password` stays an address.
        ':' => service || view.next(glyph.end).is_some_and(|next| matches!(next.raw, '/' | '~')),
        '/' => service,
        // What is masked here may have begun with a bracket.
        '[' => view.mask_begins(end),
        _ => false,
    }
}

/// Whether this is the account in a URL, `scheme://name:password@host`.
fn is_in_url(view: &View<'_>, start: usize) -> bool {
    let mut position = start;
    while let Some(glyph) = view.previous(position) {
        match glyph.raw {
            '/' => {
                let slash = view.previous(glyph.start).filter(|glyph| glyph.raw == '/');
                return slash
                    .and_then(|slash| view.previous(slash.start))
                    .is_some_and(|glyph| glyph.raw == ':');
            }
            '-' | '.' | '_' | '~' | '!' | '$' | '&' | '\'' | '*' | '+' | ';' | '=' | ':' | '%' | '@' => {}
            letter if letter.is_alphanumeric() => {}
            _ => return false,
        }
        position = glyph.start;
    }
    false
}
