//! Floats as Python's `repr` writes them: what ids, hashes and canonical text are made of.

/// As Python's `repr` spells a finite float, but zero without a sign.
pub(crate) fn python_float(float: f64) -> String {
    if float == 0.0 {
        return "0.0".to_owned();
    }
    let shortest = format!("{float:e}");
    let mantissa = shortest.split('e').next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    // Where two spellings are as short and as near, Python takes the even one.
    let even = format!("{float:.*e}", digits.saturating_sub(1));
    let is_same = even.parse() == Ok(float);
    let scientific = if is_same { even } else { shortest };
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        -4..=15 => fixed(mantissa, exponent),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

/// A number without exponent, out of one with a single digit before the point.
fn fixed(mantissa: &str, exponent: i32) -> String {
    let (sign, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", mantissa),
    };
    let digits = unsigned.replace('.', "");
    let moved = usize::try_from(exponent.unsigned_abs()).unwrap_or(0);
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(moved - 1));
    }
    let padded = format!("{digits:0<width$}", width = moved + 2);
    let (whole, fraction) = padded.split_at(moved + 1);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::python_float;

    #[test]
    fn floats_are_spelled_as_python_spells_them() {
        for text in [
            "0.0",
            "1.0",
            "-1.5",
            "0.0001",
            "1e-05",
            "1234567890123456.0",
            "1e+16",
            "5e-324",
            "1.7976931348623157e+308",
            "0.30000000000000004",
            "2073069812123559.2",
            "1.5e-07",
        ] {
            let float: f64 = text.parse().unwrap_or(f64::NAN);
            assert_eq!(python_float(float), text);
        }
        assert_eq!(python_float(-0.0), "0.0");
    }

    #[test]
    fn of_two_spellings_as_near_the_even_one_is_taken() {
        // 2073069812123559.25 lies between `…59.2` and `…59.3`, and both read back as it.
        let float = 8_292_279_248_494_237.0 / 4.0;
        assert_eq!("2073069812123559.3".parse(), Ok(float));
        assert_eq!(python_float(float), "2073069812123559.2");
    }
}
