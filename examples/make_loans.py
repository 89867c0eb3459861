"""Write loans.csv: 4,000 made-up consumer loans and whether they were paid back.

The story, so that a tree can be checked against it:

- A burden (instalment in percent of the monthly income) above 25 is dangerous; above 15 it is on
  long terms.
- Late payments in the last two years are the strongest warning, and the credit score echoes them.
- A missing credit score means a short credit history: worse than a good score, better than a bad
  one.
- Business loans and people without a permanent job default more often, retired people less often.
- Interest rates rose in July 2022: loans of people who rent went bad more often after that day.
- Age and region say nothing that the other columns do not say.

Nobody in this file exists. `RandomState` and not `default_rng`: numpy promises that its numbers
never change, and `tests/test_examples.py` wants this file back byte for byte.
"""

import argparse
import math
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

N_LOANS = 4_000
SEED = 20_240_229
FIRST_DAY = date(2020, 1, 1)
N_DAYS = 1_826  # five years
RATES_ROSE = date(2022, 7, 1)

REGIONS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "capital")
EMPLOYMENT = ("permanent", "temporary", "self-employed", "unemployed", "retired")
EMPLOYMENT_SHARES = (0.58, 0.15, 0.14, 0.05, 0.08)
HOUSING = ("owner", "mortgage", "rent", "with family")
HOUSING_SHARES = (0.17, 0.36, 0.37, 0.10)
PURPOSES = ("car", "home", "debts", "business", "education", "medical", "other")
PURPOSE_SHARES = (0.26, 0.21, 0.20, 0.09, 0.08, 0.07, 0.09)
TERMS = (12, 24, 36, 48, 60)
TERM_SHARES = (0.14, 0.22, 0.31, 0.15, 0.18)

PURPOSE_RISK = {"business": 1.0, "debts": 0.5, "medical": 0.3, "home": -0.3}
EMPLOYMENT_RISK = {"temporary": 0.6, "self-employed": 0.4, "unemployed": 1.5, "retired": -0.5}


class Loan(NamedTuple):
    """One line of the file, in the order of its columns; None is an empty field."""

    application_date: date
    region: str | None
    age: int
    employment: str
    years_employed: float | None
    income: int | None
    housing: str
    amount: int
    term_months: int
    burden: float | None
    purpose: str
    credit_score: int | None
    late_payments: int
    default: str


def draw_loan(random: np.random.RandomState) -> Loan:
    """Draw one loan; the order of the draws is part of the file."""
    loan = draw_application(random)
    defaults = random.random_sample() < 1 / (1 + math.exp(-log_odds(loan)))
    loan = loan._replace(default="yes" if defaults else "no")
    if random.random_sample() < 0.02:
        loan = loan._replace(region=None)
    if random.random_sample() < (0.18 if loan.employment == "self-employed" else 0.03):
        loan = loan._replace(income=None, burden=None)
    return loan


def draw_application(random: np.random.RandomState) -> Loan:
    """Draw a loan before anybody knows how it ends."""
    employment = pick(random, EMPLOYMENT, EMPLOYMENT_SHARES)
    age = draw_age(random, employment)
    income = draw_income(random, employment, age)
    amount = 100 * max(5, round(math.exp(random.normal(9.1, 0.55)) / 100))
    term_months = int(random.choice(TERMS, p=TERM_SHARES))
    late_payments = int(random.poisson(math.exp(random.normal(-1.3, 1.1))))
    return Loan(
        application_date=FIRST_DAY + timedelta(days=int(random.randint(N_DAYS))),
        region=pick(random, REGIONS, None),
        age=age,
        employment=employment,
        years_employed=draw_years_employed(random, employment, age),
        income=income,
        housing=pick(random, HOUSING, HOUSING_SHARES),
        amount=amount,
        term_months=term_months,
        burden=round(100 * (amount / term_months) / (income / 12), 1),
        purpose=pick(random, PURPOSES, PURPOSE_SHARES),
        credit_score=draw_score(random, age, late_payments),
        late_payments=late_payments,
        default="",
    )


def log_odds(loan: Loan) -> float:
    """Return the log odds of a default: the story at the head of this file, in numbers."""
    burden = loan.burden or 0.0
    is_squeezed = loan.housing == "rent" and loan.application_date >= RATES_ROSE
    return (
        -3.8
        + PURPOSE_RISK.get(loan.purpose, 0.0)
        + EMPLOYMENT_RISK.get(loan.employment, 0.0)
        + (2.6 if burden > 25 else 1.4 if burden > 15 and loan.term_months >= 48 else 0.0)
        + 1.3 * min(loan.late_payments, 3)
        + score_risk(loan.credit_score)
        + (1.6 if is_squeezed else 0.0)
    )


def score_risk(score: int | None) -> float:
    """How much the credit score weighs, as a term of the log odds."""
    if score is None:
        return 0.7
    return 1.8 if score < 610 else 0.5 if score < 660 else -0.7 if score > 730 else 0.0


def pick(
    random: np.random.RandomState, names: tuple[str, ...], shares: tuple[float, ...] | None
) -> str:
    """Draw one of the names."""
    return names[int(random.choice(len(names), p=shares))]


def draw_age(random: np.random.RandomState, employment: str) -> int:
    """Draw an age in years that fits the employment."""
    if employment == "retired":
        return int(random.randint(60, 82))
    return int(min(66.0, 19 + random.gamma(3.2, 6.5)))


def draw_income(random: np.random.RandomState, employment: str, age: int) -> int:
    """Draw a yearly income, rounded to a hundred."""
    middle = {"unemployed": 9.35, "retired": 10.05, "temporary": 10.15}.get(employment, 10.5)
    growth = 0.012 * (min(age, 50) - 35)
    return 100 * round(math.exp(random.normal(middle + growth, 0.38)) / 100)


def draw_years_employed(random: np.random.RandomState, employment: str, age: int) -> float | None:
    """Draw the years with the present employer; nobody employs the unemployed and the retired."""
    years = round(float(min(random.exponential(6.0), age - 17)), 1)
    return None if employment in {"unemployed", "retired"} else years


def draw_score(random: np.random.RandomState, age: int, late_payments: int) -> int | None:
    """Draw a credit score between 300 and 850; a short history has none."""
    score = round(min(850.0, max(300.0, random.normal(700 - 42 * late_payments, 52))))
    return None if random.random_sample() < (0.30 if age < 26 else 0.07) else score


def format_field(value: object) -> str:
    """Write one field; none of ours needs quotes."""
    return "" if value is None else str(value)


def make_csv() -> str:
    """Return the whole file as text."""
    random = np.random.RandomState(SEED)
    loans = sorted((draw_loan(random) for _ in range(N_LOANS)), key=lambda loan: loan[0])
    lines = [",".join(Loan._fields)]
    lines += [",".join(map(format_field, loan)) for loan in loans]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file beside this script, or where the argument says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).parent / "loans.csv")
    parser.parse_args().path.write_text(make_csv(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
