//! What a caller may ask for, by example: every control, every path, every way to be wrong.

mod controls;
mod fields;
mod manner;
mod paths;
mod resolving;
mod shapes;
mod upstream;
