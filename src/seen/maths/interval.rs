//! How far a measured number may be from the true one.

/// How many URLs were lost outside a sample: the bounds that hold the true number in 95 of 100 cases.
///
/// `mean` is the estimate from the sample and `variance` its variance: a false positive that stands for `n` URLs adds `n - 1`
/// and `n (n - 1)`. `sample` is the number that the next one would stand for.
///
/// If all stand for `n`, the sample has each lost URL with chance `1 / n`, so the number it missed before it had found `r` has the negative
/// binomial distribution of `r`. At each bound, finding that few or that many would have a chance of 2.5 % (as Clopper and Pearson 1934 do
/// for a share). If they stand for different numbers, it is the negative binomial distribution of the same mean and variance. The upper
/// bound has one more false positive, as if one had nearly been found (as Fay and Feuer 1997 do for sums of Poisson numbers with weights).
///
/// The usual bounds by the normal distribution do not do, since false positives are rare: for a few hits in a million they are wrong, and
/// for no hit they say that there can be none.
pub(in crate::seen) fn not_sampled(mean: f64, variance: f64, sample: f64) -> (f64, f64) {
    const TAIL: f64 = 0.025;
    let low = missed(TAIL, mean, variance, 1.0);
    let high = missed(1.0 - TAIL, mean + (sample - 1.0), variance + sample * (sample - 1.0), 0.0);
    (low, high)
}

/// The number at which the negative binomial distribution of this mean and variance reaches `share`, minus `below`.
fn missed(share: f64, mean: f64, variance: f64, below: f64) -> f64 {
    if mean <= 0.0 || variance <= mean {
        return mean.max(0.0);
    }
    let (found, chance) = (mean * mean / (variance - mean), mean / variance);
    let reached = |missed: f64| beta(chance, found, missed) >= share;
    let (mut low, mut high) = (0.0, below.max(mean));
    // Bounded, since a forged snapshot may have numbers for which it is never reached.
    for _ in 0..64 {
        if reached(high) {
            break;
        }
        (low, high) = (high, high * 2.0);
    }
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if reached(middle) { high = middle } else { low = middle }
    }
    (high - below).max(0.0)
}

/// The regularized incomplete beta function `I_x(a, b)`, for `x` inside 0 to 1 and `a`, `b` above
/// 0.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    let front = (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on this side of the mean; the complement's does on the other.
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

    /// For a sample in which each false positive stands for `n`.
    fn bounds(found: u32, n: f64) -> (f64, f64) {
        let found = f64::from(found);
        not_sampled(found * (n - 1.0), found * n * (n - 1.0), n)
    }

    #[test]
    fn at_the_bounds_what_was_found_is_a_chance_of_2_5_percent() {
        // None found of `missed`: (1 - 1 / n) ^ missed.
        for n in [2.0, 8.0, 1024.0_f64] {
            let (low, high) = bounds(0, n);
            assert!(low.abs() < 1e-9);
            close(high, 0.025_f64.ln() / (-1.0 / n).ln_1p());
        }
        // One found of one; or of `missed + 1` in one way of each.
        let (low, high) = bounds(1, 2.0);
        assert!(low.abs() < 1e-9, "half of all times nothing is missed");
        close((high + 1.0) * 0.5_f64.powf(high + 1.0) + 0.5_f64.powf(high + 1.0), 0.025);
        let (low, high) = bounds(1, 1024.0);
        close(low, 0.975_f64.ln() / (-1.0 / 1024.0_f64).ln_1p() - 1.0);
        assert!((5600.0..5750.0).contains(&high), "5.57 of a Poisson number, by 1024: {high}");
    }

    #[test]
    fn what_was_counted_has_no_bounds() {
        assert_eq!(not_sampled(0.0, 0.0, 1.0), (0.0, 0.0));
        // 900 were counted, and 100 of a sample of one in two stand for another 100.
        let (low, high) = not_sampled(100.0, 200.0, 2.0);
        assert!((70.0..80.0).contains(&low) && (125.0..135.0).contains(&high), "{low} to {high}");
    }

    #[test]
    fn numbers_that_cannot_be_have_some_bounds() {
        for (mean, variance) in [(-3.0, 5.0), (1e19, 1.8e19), (1.0, 1.8e19), (1e19, 1.0)] {
            let (low, high) = not_sampled(mean, variance, 2_147_483_648.0);
            assert!(low >= 0.0 && high >= 0.0, "{low} to {high}");
        }
    }

    #[test]
    fn beta_is_the_tabulated_one() {
        // scipy.stats.binomtest(hits, trials).proportion_ci(method="exact"), at whose ends it is 2.5 and 97.5 %
        for (hits, trials, low, high) in BOUNDS {
            let (hit, missed) = (f64::from(hits), f64::from(trials - hits));
            // A share of 0 has no lower bound, and one of 1 no upper one.
            let tail = |share: f64, is: f64| assert!((share - is).abs() < 1e-8, "{hits} of {trials}: {share}");
            if hits > 0 {
                tail(beta(low, hit, missed + 1.0), 0.025);
            }
            if hits < trials {
                tail(beta(high, hit + 1.0, missed), 0.975);
            }
        }
    }

    const BOUNDS: [(u32, u32, f64, f64); 10] = [
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
