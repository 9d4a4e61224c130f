#![doc = include_str!("../README.md")]

pub mod pattern;
pub mod pointer;
pub mod spelling;
