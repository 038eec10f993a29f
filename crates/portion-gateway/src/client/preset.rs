//! Whether the limits of a client are gone by.

use std::fmt;
use std::str::FromStr;

use super::{CLIENTS, ClientProfile};

/// Which client's limits bound the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// Nobody's.
    #[default]
    None,
    /// Those of the client that asks, if it is known.
    Auto,
    /// Those of this one: it is taken to be the one that asks.
    Named(&'static ClientProfile),
    /// Nobody's: whoever asks is a program, which takes results whole where that is allowed.
    Code,
}

/// A name that is no preset's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset `{given}`: use {}", Preset::names())]
pub struct UnknownPreset {
    /// What was given.
    pub given: String,
}

impl Preset {
    fn names() -> String {
        let names = ["none", "auto", "code"].into_iter().chain(CLIENTS.iter().map(|client| client.preset));
        names.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Code => "code",
            Self::Named(client) => client.preset,
        })
    }
}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Self::None),
            "auto" => Ok(Self::Auto),
            "code" => Ok(Self::Code),
            name => CLIENTS
                .iter()
                .find(|client| client.preset == name)
                .map(Self::Named)
                .ok_or_else(|| UnknownPreset { given: name.to_owned() }),
        }
    }
}
