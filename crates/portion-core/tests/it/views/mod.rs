//! Tests of requests by example: every control, every kind of path, every error.

mod controls;
mod fields;
mod manner;
mod paths;
mod resolving;
mod shapes;
mod upstream;
