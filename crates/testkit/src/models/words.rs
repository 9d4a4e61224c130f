//! Enums whose values have names, so that tests can go through all of them and scripts can say them.

/// A word that no list has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is called `{word}`; there are {known}")]
pub struct UnknownWord {
    /// What was looked for.
    pub kind: &'static str,
    /// The word.
    pub word: String,
    /// Those that exist.
    pub known: String,
}

/// An enum with `ALL`, `name` and `FromStr`.
macro_rules! words {
    ($(#[doc = $about:literal])+ $kind:ident, $what:literal: $($(#[doc = $doc:literal])+ $name:ident = $text:literal;)+) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind {
            $($(#[doc = $doc])+ $name,)+
        }

        impl $kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its name in scripts.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }

        impl std::str::FromStr for $kind {
            type Err = $crate::models::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|known| known.name() == word).ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|known| known.name()).collect();
                    $crate::models::words::UnknownWord {
                        kind: $what,
                        word: word.to_owned(),
                        known: names.join(", "),
                    }
                })
            }
        }
    };
}

pub(crate) use words;
