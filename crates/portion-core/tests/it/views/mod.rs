//! Tests of requests by example: every control, every kind of path, every error.

mod controls;
mod fields;
mod paths;
mod render_options;
mod resolving;
mod shapes;
mod upstream;
