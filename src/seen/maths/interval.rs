//! How far a measured share may be from the true one.

/// The Clopper–Pearson interval, where of `trials` independent ones `hits` came true. In at least
/// 95 of 100 such experiments the true share lies between these bounds (Clopper and Pearson 1934).
/// Without trials the bounds are 0 and 1.
///
/// This interval, and not the usual one by the normal distribution, since false positives are rare:
/// of a few hits in a million that one would be wrong, and of none it would say that there can be
/// none.
pub(in crate::seen) fn clopper_pearson(hits: u64, trials: u64) -> (f64, f64) {
    const TAIL: f64 = 0.025;
    let (hit, missed) = (hits as f64, trials.saturating_sub(hits) as f64);
    let low = if hits == 0 { 0.0 } else { inverse_beta(TAIL, hit, missed + 1.0) };
    let high = if hits >= trials { 1.0 } else { inverse_beta(1.0 - TAIL, hit + 1.0, missed) };
    (low, high)
}

/// Where the regularized incomplete beta function reaches `share`. It grows, so bisection finds the
/// place, to 16 digits even where that is close to 0.
fn inverse_beta(share: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if beta(middle, a, b) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The regularized incomplete beta function `I_x(a, b)`, for `x` inside 0 to 1 and `a`, `b` above
/// 0.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    let front = (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on this side of the mean. On the other side that of the
    // complement does.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. It
/// takes some `sqrt(max(a, b))` steps, and the bound leaves room for more than a million trials.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for step in 1..20_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            below = 1.0 / nonzero(1.0 + term * below);
            above = nonzero(1.0 + term / above);
            value *= above * below;
        }
        if (value / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// ln Γ(x) for `x` above 0: by Stirling's series (DLMF 5.11.1) from 10 on, where five terms give 15
/// digits, and below 10 by Γ(x + 1) = x Γ(x).
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 1.0);
    while x < 10.0 {
        shift *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series =
        1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series / x - f64::ln(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, tabulated: f64) {
        assert!((value - tabulated).abs() <= 1e-8 * tabulated.abs().max(1e-3), "{value} is not {tabulated}");
    }

    #[test]
    fn bounds_are_the_tabulated_ones() {
        // scipy.stats.binomtest(hits, trials).proportion_ci(method="exact")
        for (hits, trials, low, high) in BOUNDS {
            let bounds = clopper_pearson(hits, trials);
            close(bounds.0, low);
            close(bounds.1, high);
        }
        assert_eq!(clopper_pearson(0, 0), (0.0, 1.0));
    }

    const BOUNDS: [(u64, u64, f64, f64); 10] = [
        (0, 10, 0.0, 0.308_497_107_818_763),
        (1, 10, 0.002_528_578_544_462_573, 0.445_016_117_028_195),
        (5, 10, 0.187_086_028_447_404_5, 0.812_913_971_552_595_5),
        (10, 10, 0.691_502_892_181_237_1, 1.0),
        (0, 1000, 0.0, 0.003_682_083_896_639_526),
        (3, 1000, 0.000_619_099_931_649_917_3, 0.008_742_023_238_657_654),
        (12, 97_656, 6.349_561_198_051_061e-5, 0.000_214_637_331_196_169_8),
        (500, 1000, 0.468_549_172_971_792, 0.531_450_827_028_208),
        (9765, 9_765_000, 0.000_980_272_722_387_474, 0.001_020_024_093_269_9),
        (100, 1_000_000, 8.136_470_856_580_56e-5, 0.000_121_625_478_717_209_8),
    ];

    #[test]
    fn ln_gamma_is_of_factorials() {
        close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        close(ln_gamma(1.0), 0.0);
        close(ln_gamma(6.0), 120_f64.ln());
        close(ln_gamma(171.0), 706.573_062_245_787_5);
    }
}
