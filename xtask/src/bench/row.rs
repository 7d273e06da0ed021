//! A line of the table.

/// Whether a bar is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Met,
    /// It is not.
    Missed,
    /// Nobody measured it in this run.
    Absent,
}

/// One figure with its bar and with what stands beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// A name that reasons go by.
    pub id: &'static str,
    /// What was measured.
    pub what: String,
    /// The figure with its unit.
    pub figure: String,
    /// The bar with its unit.
    pub bar: String,
    /// Whether it is met.
    pub verdict: Verdict,
    /// Who or what stands beside it in the same run, with its figure.
    pub against: String,
    /// The one by the other.
    pub ratio: String,
    /// The program that measured, and of what.
    pub how: &'static str,
}

impl Verdict {
    /// By a comparison that could be made, or not.
    #[must_use]
    pub const fn of(is_met: Option<bool>) -> Self {
        match is_met {
            Some(true) => Self::Met,
            Some(false) => Self::Missed,
            None => Self::Absent,
        }
    }

    /// The word of the table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "**missed**",
            Self::Absent => "not measured",
        }
    }
}

/// What is told where there is nothing to tell.
pub(super) const NOTHING: &str = "–";

/// Three figures that count, and no more: `0.352`, `12.1`, `1,204`; whole numbers as they are.
#[must_use]
pub(super) fn short(number: f64) -> String {
    match number.abs() {
        it if it >= 1000.0 || it.fract() == 0.0 => thousands(number),
        it if it >= 100.0 => format!("{number:.0}"),
        it if it >= 10.0 => format!("{number:.1}"),
        it if it >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

/// A number with its unit, or the sign for nothing.
pub(super) fn with(number: Option<f64>, unit: &str) -> String {
    number.map_or_else(|| NOTHING.to_owned(), |number| format!("{} {unit}", short(number)))
}

/// `12.0 ×`, or the sign for nothing.
pub(super) fn times(one: Option<f64>, other: Option<f64>) -> String {
    with(quotient(one, other), "×")
}

/// One by the other, where both are known and the second is not 0.
pub(super) fn quotient(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    let (one, other) = (one?, other?);
    (other > 0.0).then(|| one / other)
}

fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
