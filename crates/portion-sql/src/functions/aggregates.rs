//! Aggregate functions that SQLite lacks.

use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use super::{PURE, number_argument};

pub(super) fn register(connection: &Connection) -> Result<()> {
    for (name, kind) in MOMENTS {
        connection.create_aggregate_function(name, 1, PURE, Spread(kind))?;
    }
    for (name, kind) in
        [("corr", Pair::Correlation), ("covar_pop", Pair::Population), ("covar_samp", Pair::Sample)]
    {
        connection.create_aggregate_function(name, 2, PURE, Covariance(kind))?;
    }
    for name in ["count_if", "countif"] {
        connection.create_aggregate_function(name, 1, PURE, Truth(Quantifier::Count))?;
    }
    for name in ["bool_or", "boolor_agg", "logical_or"] {
        connection.create_aggregate_function(name, 1, PURE, Truth(Quantifier::Any))?;
    }
    for name in ["bool_and", "booland_agg", "logical_and", "every"] {
        connection.create_aggregate_function(name, 1, PURE, Truth(Quantifier::All))?;
    }
    connection.create_aggregate_function("product", 1, PURE, Product)?;
    Ok(())
}

/// Measures of spread.
#[derive(Clone, Copy)]
enum Measure {
    SampleVariance,
    PopulationVariance,
    SampleDeviation,
    PopulationDeviation,
}

const MOMENTS: [(&str, Measure); 9] = [
    ("stddev", Measure::SampleDeviation),
    ("stddev_samp", Measure::SampleDeviation),
    ("stdev", Measure::SampleDeviation),
    ("stddev_pop", Measure::PopulationDeviation),
    ("variance", Measure::SampleVariance),
    ("var_samp", Measure::SampleVariance),
    ("var_pop", Measure::PopulationVariance),
    ("stdevp", Measure::PopulationDeviation),
    ("std", Measure::PopulationDeviation),
];

/// The variance and what follows from it, by Welford's method.
struct Spread(Measure);

#[derive(Default)]
struct Running {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Aggregate<Running, Option<f64>> for Spread {
    fn init(&self, _: &mut Context<'_>) -> Result<Running> {
        Ok(Running::default())
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut Running) -> Result<()> {
        if let Some(n) = number_argument(context, 0) {
            sum.count += 1.0;
            let delta = n - sum.mean;
            sum.mean += delta / sum.count;
            sum.squares += delta * (n - sum.mean);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<Running>) -> Result<Option<f64>> {
        let Some(sum) = sum else { return Ok(None) };
        let (is_sample, is_root) = match self.0 {
            Measure::SampleVariance => (true, false),
            Measure::PopulationVariance => (false, false),
            Measure::SampleDeviation => (true, true),
            Measure::PopulationDeviation => (false, true),
        };
        let divisor = if is_sample { sum.count - 1.0 } else { sum.count };
        let variance = sum.squares / divisor;
        let value = if is_root { variance.sqrt() } else { variance };
        Ok(Some(value).filter(|value| divisor > 0.0 && value.is_finite()))
    }
}

/// Measures of two columns.
#[derive(Clone, Copy)]
enum Pair {
    Correlation,
    Population,
    Sample,
}

struct Covariance(Pair);

#[derive(Default)]
struct RunningPair {
    count: f64,
    mean: [f64; 2],
    squares: [f64; 2],
    product: f64,
}

impl Aggregate<RunningPair, Option<f64>> for Covariance {
    fn init(&self, _: &mut Context<'_>) -> Result<RunningPair> {
        Ok(RunningPair::default())
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut RunningPair) -> Result<()> {
        if let Some((x, y)) = number_argument(context, 0).zip(number_argument(context, 1)) {
            sum.count += 1.0;
            let (dx, dy) = (x - sum.mean[0], y - sum.mean[1]);
            sum.mean[0] += dx / sum.count;
            sum.mean[1] += dy / sum.count;
            sum.squares[0] += dx * (x - sum.mean[0]);
            sum.squares[1] += dy * (y - sum.mean[1]);
            sum.product += dx * (y - sum.mean[1]);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<RunningPair>) -> Result<Option<f64>> {
        let Some(sum) = sum else { return Ok(None) };
        let value = match self.0 {
            Pair::Correlation => sum.product / (sum.squares[0] * sum.squares[1]).sqrt(),
            Pair::Population => sum.product / sum.count,
            Pair::Sample => sum.product / (sum.count - 1.0),
        };
        Ok(Some(value).filter(|value| value.is_finite()))
    }
}

/// Question about conditions.
#[derive(Clone, Copy)]
enum Quantifier {
    Count,
    Any,
    All,
}

struct Truth(Quantifier);

/// Counts of true and of false conditions.
type TruthCounts = (i64, i64);

impl Aggregate<TruthCounts, Value> for Truth {
    fn init(&self, _: &mut Context<'_>) -> Result<TruthCounts> {
        Ok((0, 0))
    }

    fn step(&self, context: &mut Context<'_>, counts: &mut TruthCounts) -> Result<()> {
        match number_argument(context, 0) {
            Some(n) if n != 0.0 => counts.0 += 1,
            Some(_) => counts.1 += 1,
            None => {}
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, counts: Option<TruthCounts>) -> Result<Value> {
        let (yes, no) = counts.unwrap_or_default();
        Ok(match self.0 {
            Quantifier::Count => Value::Integer(yes),
            _ if yes + no == 0 => Value::Null,
            Quantifier::Any => Value::Integer(i64::from(yes > 0)),
            Quantifier::All => Value::Integer(i64::from(no == 0)),
        })
    }
}

/// The product of numbers.
struct Product;

impl Aggregate<Option<f64>, Option<f64>> for Product {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<f64>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, product: &mut Option<f64>) -> Result<()> {
        if let Some(n) = number_argument(context, 0) {
            *product = Some(product.unwrap_or(1.0) * n);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, product: Option<Option<f64>>) -> Result<Option<f64>> {
        Ok(product.flatten().filter(|product| product.is_finite()))
    }
}
