//! Arguments: parsing, repair, coercion, validation.
//!
//! The way of one call's arguments: [`parse_arguments`] makes an object of what the model wrote, the plan decodes
//! it, [`Validator::coerce`] mends types by the original schema where that was asked for, and
//! [`Validator::validate`] lists everything that is still wrong, for [`render_issues`] to tell the model.

mod coerce;
mod compile;
mod defaults;
mod estimate;
mod issues;
mod kinds;
mod lenient;
mod metered;
mod omit;
mod parse;
mod patterns;
mod rewrite;
mod validate;
mod walk;

pub use coerce::{Coercion, CoercionRule, coerce};
pub use defaults::{FilledArguments, UnfilledDefault, UnfilledReason};
pub use issues::{Issue, render_issues, unknown_tool_text};
pub use parse::{ArgumentError, Arguments, BadArguments, Parsed, Repair, check_numbers, parse_arguments};
pub(crate) use parse::{has_doubles, string_end};
pub use validate::{Omission, OmissionKind, Validator};

pub(crate) use kinds::{Kinds, accepted_kinds, kind_name, resolve};
