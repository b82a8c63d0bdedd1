/// Which differences between two spellings do not make two URLs. One switch a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyRules {
    /// Sort query parameters by name, then by value; stable.
    pub sort_query: bool,
    /// Drop parameters that only track where a visitor came from.
    pub drop_tracking: bool,
}

impl Default for KeyRules {
    fn default() -> Self {
        Self { sort_query: true, drop_tracking: true }
    }
}
