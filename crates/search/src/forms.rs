//! Forms of English words: which word a plural or a verb form belongs to.
//!
//! A form alone does not always show its word: `caches` is of `cache` and `boxes` of `box`. So each form has several
//! possible base words, and the words of an index decide among them. Nothing is cut off to a stem, because stems make one
//! of what is two: `move` and `movie`, `plan` and `plane`, `state` and `station`.

/// A word that another one may be a form of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) word: String,
    pub(crate) kind: BaseKind,
}

/// How sure it is that a word is a form of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseKind {
    /// The word itself, or the base that its ending speaks for.
    Likely,
    /// A base that the ending does not rule out: right if it is a word.
    Possible,
    /// Another word for the same: `translate` for `translation`.
    Derived,
}

/// The base words of a word in lower case: itself, then the others, the likely ones first.
pub(crate) fn bases(word: &str) -> Vec<Base> {
    let mut found = Vec::new();
    add(&mut found, word.to_owned(), BaseKind::Likely);
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return found;
    }
    if let Some((_, base)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        add(&mut found, (*base).to_owned(), BaseKind::Likely);
        return found;
    }
    let is_plural = add_singular(&mut found, word);
    // `recordings` are of `record`, `translations` of `translate`.
    let singular = if is_plural { found.get(1).map(|base| base.word.clone()) } else { None };
    let singular = singular.as_deref().unwrap_or(word);
    add_verb(&mut found, singular);
    add_derived(&mut found, singular);
    found
}

fn add(found: &mut Vec<Base>, word: String, kind: BaseKind) {
    if !found.iter().any(|base| base.word == word) {
        found.push(Base { word, kind });
    }
}

/// Adds what a plural is of; says whether the word may be one.
fn add_singular(found: &mut Vec<Base>, word: &str) -> bool {
    if NO_PLURALS.contains(&word) || word.ends_with("ss") {
        return false;
    }
    let Some(stripped) = word.strip_suffix('s') else { return false };
    let likely = BaseKind::Likely;
    let possible = BaseKind::Possible;
    if word.len() == 3 {
        return false;
    }
    if ["us", "is", "as", "os"].iter().any(|ending| word.ends_with(ending)) {
        // `status`, `redis`, `canvas`, but `menus`, `apis`, `schemas`, `repos`.
        add(found, stripped.to_owned(), possible);
        return true;
    }
    if let Some(left) = word.strip_suffix("ies") {
        if left.len() >= 2 {
            add(found, format!("{left}y"), likely);
        }
        add(found, format!("{left}ie"), possible);
        return true;
    }
    let Some(left) = word.strip_suffix("es") else {
        add(found, stripped.to_owned(), likely);
        return true;
    };
    let hisses = ["s", "x", "z", "ch", "sh", "o"].iter().any(|ending| left.ends_with(ending));
    if hisses && !left.ends_with("as") && !left.ends_with("ns") {
        add(found, left.to_owned(), likely);
        add(found, stripped.to_owned(), possible);
    } else {
        add(found, stripped.to_owned(), likely);
        if hisses {
            add(found, left.to_owned(), possible);
        }
    }
    // `indices`, `matrices`, `analyses`, `shelves`, `knives`.
    if let Some(left) = left.strip_suffix("ic") {
        add(found, format!("{left}ex"), possible);
        add(found, format!("{left}ix"), possible);
    }
    if left.ends_with('s') || left.ends_with('x') {
        add(found, format!("{left}is"), possible);
    }
    if let Some(left) = left.strip_suffix('v') {
        add(found, format!("{left}f"), possible);
        add(found, format!("{left}fe"), possible);
    }
    true
}

/// Adds the verb that a form in `-ing` or `-ed` is of.
fn add_verb(found: &mut Vec<Base>, word: &str) {
    if NO_VERBS.contains(&word) {
        return;
    }
    if let Some(left) = word.strip_suffix("ied").filter(|left| !left.is_empty()) {
        add(found, format!("{left}y"), BaseKind::Likely);
        add(found, format!("{left}ie"), BaseKind::Possible);
        return;
    }
    if word.ends_with("eed") {
        // `agreed` and `guaranteed`, but not `feed` or `speed`.
        if word.len() >= 6 {
            add(found, word.strip_suffix('d').unwrap_or(word).to_owned(), BaseKind::Possible);
        }
        return;
    }
    let Some(left) = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed")) else { return };
    let vowels = vowel_groups(left);
    if vowels == 0 || left.len() < 2 {
        return;
    }
    let kinds = match end_of(left) {
        // `adding`, `running`, `calling` and `cancelling`.
        End::Doubled if left.len() == 3 => {
            add(found, left.to_owned(), BaseKind::Likely);
            return;
        }
        End::Doubled => {
            let single = left.get(..left.len() - 1).unwrap_or(left);
            let keeps = left.ends_with('l') || left.ends_with('s') || left.ends_with('z');
            let (first, second) = if keeps { (left, single) } else { (single, left) };
            add(found, first.to_owned(), BaseKind::Likely);
            add(found, second.to_owned(), BaseKind::Possible);
            return;
        }
        // `moving` is not of `mov`: a short word would have doubled its last letter.
        End::Single if vowels == 1 => [None, Some(BaseKind::Likely)],
        End::Single | End::Other => [Some(BaseKind::Likely), Some(BaseKind::Possible)],
    };
    for (base, kind) in [left.to_owned(), format!("{left}e")].into_iter().zip(kinds) {
        if let Some(kind) = kind {
            add(found, base, kind);
        }
    }
}

/// Adds the verb that a noun in `-ion` is of. Short ones are words of their own: `station`, `section`, `version`.
fn add_derived(found: &mut Vec<Base>, word: &str) {
    let Some(left) = word.strip_suffix("ion") else { return };
    if left.len() >= 5 && (left.ends_with('t') || left.ends_with('s')) {
        add(found, left.to_owned(), BaseKind::Derived);
        add(found, format!("{left}e"), BaseKind::Derived);
    }
    if let Some(left) = left.strip_suffix("at").filter(|left| left.len() >= 4) {
        add(found, left.to_owned(), BaseKind::Derived);
        add(found, format!("{left}e"), BaseKind::Derived);
    }
}

/// How what is left of a verb form ends.
enum End {
    /// In a consonant twice.
    Doubled,
    /// In one consonant after one vowel.
    Single,
    /// In a vowel, in a consonant after two vowels, in several consonants, or in one that is never doubled.
    Other,
}

fn end_of(text: &str) -> End {
    let mut last = text.bytes().rev();
    let (one, two, three) = (last.next().unwrap_or(b'a'), last.next().unwrap_or(b'a'), last.next());
    if is_vowel(one) {
        End::Other
    } else if one == two {
        End::Doubled
    } else if is_vowel(two) && !three.is_some_and(is_vowel) && !b"wxy".contains(&one) {
        End::Single
    } else {
        End::Other
    }
}

fn is_vowel(letter: u8) -> bool {
    b"aeiou".contains(&letter)
}

fn vowel_groups(text: &str) -> usize {
    let mut groups = 0;
    let mut was_vowel = false;
    for letter in text.bytes() {
        let is_vowel = is_vowel(letter) || letter == b'y';
        groups += usize::from(is_vowel && !was_vowel);
        was_vowel = is_vowel;
    }
    groups
}

/// Words that end like a plural and are none.
const NO_PLURALS: &[&str] = &[
    "news",
    "series",
    "species",
    "always",
    "canvas",
    "alias",
    "bias",
    "atlas",
    "texas",
    "saas",
    "paas",
    "iaas",
    "macos",
    "https",
    "kubernetes",
    "postgres",
    "jenkins",
    "mathematics",
    "physics",
];

/// Words that end like a form of a verb and are of none, or mean something else by now: `settings` are not set.
const NO_VERBS: &[&str] = &[
    "setting",
    "building",
    "meeting",
    "marketing",
    "wedding",
    "morning",
    "evening",
    "ceiling",
    "clothing",
    "during",
    "something",
    "anything",
    "nothing",
    "everything",
    "embed",
    "hundred",
];

/// Forms that no ending shows.
const IRREGULAR: &[(&str, &str)] = &[
    ("ids", "id"),
    ("ips", "ip"),
    ("vms", "vm"),
    ("dbs", "db"),
    ("prs", "pr"),
    ("mrs", "mr"),
    ("ads", "ad"),
    ("pcs", "pc"),
    ("children", "child"),
    ("people", "person"),
    ("men", "man"),
    ("women", "woman"),
    ("mice", "mouse"),
    ("sent", "send"),
    ("built", "build"),
    ("found", "find"),
    ("made", "make"),
    ("making", "make"),
    ("wrote", "write"),
    ("written", "write"),
    ("writing", "write"),
    ("got", "get"),
    ("gotten", "get"),
    ("gave", "give"),
    ("given", "give"),
    ("took", "take"),
    ("taken", "take"),
    ("shown", "show"),
    ("bought", "buy"),
    ("sold", "sell"),
    ("paid", "pay"),
    ("drew", "draw"),
    ("drawn", "draw"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("ran", "run"),
    ("held", "hold"),
    ("kept", "keep"),
    ("lost", "lose"),
    ("began", "begin"),
    ("begun", "begin"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("broke", "break"),
    ("broken", "break"),
    ("won", "win"),
    ("met", "meet"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: &[&str]) {
        let found: Vec<String> = bases(word).into_iter().skip(1).map(|base| base.word).collect();
        assert_eq!(found, expected, "{word}");
    }

    #[test]
    fn plurals_have_their_singulars() {
        check("files", &["file"]);
        check("queries", &["query", "querie"]);
        check("boxes", &["box", "boxe", "boxis"]);
        check("caches", &["cach", "cache"]);
        check("databases", &["database", "databas", "databasis"]);
        check("analyses", &["analys", "analyse", "analysis"]);
        check("indices", &["indice", "index", "indix"]);
        check("shelves", &["shelve", "shelf", "shelfe"]);
        check("apis", &["api"]);
        check("people", &["person"]);
    }

    #[test]
    fn verbs_have_their_base() {
        check("moving", &["move"]);
        check("listed", &["list", "liste"]);
        check("running", &["run", "runn"]);
        check("adding", &["add"]);
        check("calling", &["call", "cal"]);
        check("tried", &["try", "trie"]);
        check("deleting", &["delet", "delete"]);
        check("fixed", &["fix", "fixe"]);
        check("recordings", &["recording", "record", "recorde"]);
        check("sent", &["send"]);
    }

    #[test]
    fn words_that_only_look_like_forms_stay() {
        for word in
            ["news", "status2", "class", "string", "feed", "speed", "bring", "as", "größen", "setting", "dns"]
        {
            check(word, &[]);
        }
        check("station", &[]);
        check("translation", &["translat", "translate", "transl", "transle"]);
    }
}
