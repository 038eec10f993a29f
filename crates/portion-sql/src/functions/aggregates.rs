//! Aggregate functions that SQLite lacks.

use rusqlite::Result;
use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::Value;

use super::values::{PURE, Registry, number_argument};

pub(super) fn register(registry: Registry<'_>) -> Result<()> {
    for (names, arguments, measure) in MEASURES {
        for name in registry.wanted_of(names) {
            registry.connection.create_aggregate_function(name, arguments, PURE, measure)?;
        }
    }
    Ok(())
}

/// Names of aggregates, their arguments, and the value that each takes from the sums of a group.
const MEASURES: [(&str, i32, Measure); 11] = [
    ("stddev stddev_samp stdev", 1, Measure(|sums| real((sums.squares[0] / (sums.count - 1.0)).sqrt()))),
    ("stddev_pop stdevp std", 1, Measure(|sums| real((sums.squares[0] / sums.count).sqrt()))),
    ("variance var_samp", 1, Measure(|sums| real(sums.squares[0] / (sums.count - 1.0)))),
    ("var_pop", 1, Measure(|sums| real(sums.squares[0] / sums.count))),
    ("corr", 2, Measure(|sums| real(sums.cross / (sums.squares[0] * sums.squares[1]).sqrt()))),
    ("covar_pop", 2, Measure(|sums| real(sums.cross / sums.count))),
    ("covar_samp", 2, Measure(|sums| real(sums.cross / (sums.count - 1.0)))),
    ("product", 1, Measure(|sums| if sums.count > 0.0 { real(sums.product) } else { Value::Null })),
    ("count_if countif", 1, Measure(|sums| Value::Integer(sums.true_count))),
    ("bool_or boolor_agg logical_or", 1, Measure(|sums| sums.truth(sums.true_count > 0))),
    (
        "bool_and booland_agg logical_and every",
        1,
        Measure(|sums| sums.truth(sums.true_count as f64 >= sums.count)),
    ),
];

/// The value of an aggregate.
#[derive(Clone, Copy)]
struct Measure(fn(&Sums) -> Value);

/// Sums of the rows of a group that have a number in each argument, by Welford's method.
struct Sums {
    count: f64,
    mean: [f64; 2],
    squares: [f64; 2],
    cross: f64,
    product: f64,
    true_count: i64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { count: 0.0, mean: [0.0; 2], squares: [0.0; 2], cross: 0.0, product: 1.0, true_count: 0 }
    }
}

impl Sums {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (dx, dy) = (x - self.mean[0], y - self.mean[1]);
        self.mean[0] += dx / self.count;
        self.mean[1] += dy / self.count;
        self.squares[0] += dx * (x - self.mean[0]);
        self.squares[1] += dy * (y - self.mean[1]);
        self.cross += dx * (y - self.mean[1]);
        self.product *= x;
        self.true_count += i64::from(x != 0.0);
    }

    /// Returns a truth about the conditions of a group, which has some.
    fn truth(&self, is_true: bool) -> Value {
        if self.count > 0.0 { Value::Integer(i64::from(is_true)) } else { Value::Null }
    }
}

fn real(n: f64) -> Value {
    if n.is_finite() { Value::Real(n) } else { Value::Null }
}

impl Aggregate<Sums, Value> for Measure {
    fn init(&self, _: &mut Context<'_>) -> Result<Sums> {
        Ok(Sums::default())
    }

    fn step(&self, context: &mut Context<'_>, sums: &mut Sums) -> Result<()> {
        let y = if context.len() > 1 { number_argument(context, 1) } else { Some(0.0) };
        if let Some((x, y)) = number_argument(context, 0).zip(y) {
            sums.add(x, y);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sums: Option<Sums>) -> Result<Value> {
        Ok((self.0)(&sums.unwrap_or_default()))
    }
}
