//! Finds personal data in text, JSON and streams, and masks it.
//!
//! It finds payment cards, IBANs, Social Security numbers of the United States, telephone numbers and e-mail addresses
//! ([`Kind`]), by checksums, number plans and neighbouring words. It does not find names, street addresses, or secrets such as
//! keys and passwords, and it does not decide what happens to a text: callers choose a [`Mode`].
//!
//! ```
//! use gateway_privacy::{Applied, Detector, Kind, Mode};
//!
//! let detector = Detector::default();
//! let text = "Card 4242 4242 4242 4242, mail anna@example.com, order 1700000000000.";
//! let kinds: Vec<Kind> = detector.find(text).iter().map(|finding| finding.kind).collect();
//! assert_eq!(kinds, [Kind::Card, Kind::Email]);
//!
//! let Applied::Passed { output, .. } = detector.apply(text, Mode::Mask) else { unreachable!() };
//! assert_eq!(output, "Card [card], mail [email], order 1700000000000.");
//!
//! assert!(matches!(detector.apply(text, Mode::Block), Applied::Blocked { .. }));
//! ```
//!
//! What is decided where formats leave a choice:
//!
//! - A mask is a fixed word, `[card]`; no digit is kept.
//! - Decimal digits of all scripts, full-width forms, special spaces and long dashes count as the plain ones; invisible characters
//!   are skipped.
//! - A bare number is a Social Security or telephone number only after a word that says so, or under such a JSON member.
//! - `git@host:path`, `name@host:/path`, `scheme://name:password@host` and `user@localhost` are no addresses;
//!   `name@example.com:password` is one.

mod calling_codes;
mod card;
mod characters;
mod context;
mod counts;
mod detector;
mod email;
mod iban;
mod json;
mod kind;
mod number;
mod parts;
mod phone;
mod ssn;
mod stream;
mod view;
mod visible;

pub use counts::Counts;
pub use detector::Detector;
pub use json::{JsonError, JsonFinding, JsonReport, Location, MAX_LISTED};
pub use kind::{Applied, Finding, Kind, Mode};
pub use stream::{MaskedPiece, StreamMask};
