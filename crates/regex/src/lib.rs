//! Regular expressions with look-around and back-references, matched in counted steps.
//!
//! ```
//! use gateway_regex::{Expression, OutOfSteps, Program};
//!
//! let expression = Expression::read(r"^(?!.*(.)\1\1).*$").ok_or("not understood")?;
//! assert!(expression.backtracks());
//! let program = Program::new(&expression).ok_or("too long")?;
//! let mut steps = 1_000;
//! assert_eq!(program.finds("no letter thrice", &mut steps), Ok(true));
//! assert_eq!(program.finds("ooo", &mut steps), Ok(false));
//! assert_eq!(program.finds(&"no".repeat(1_000), &mut steps), Err(OutOfSteps));
//! # Ok::<(), &str>(())
//! ```
//!
//! Why it exists is in `README.md`. It is not a search engine for texts: it says whether an expression is found, not where, and it
//! reads ECMA-262, not the syntax of other languages.

mod expression;
mod reader;
mod search;

pub use expression::Expression;
pub use search::{MAX_INSTRUCTIONS, OutOfSteps, Program};
