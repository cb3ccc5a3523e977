"""English names of months, days, eras and zones, as Java gives them."""

from __future__ import annotations

from typing import Final

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

#: By length (short, full, narrow): value to name.
MONTH_NAMES: Final = {
    "short": {number: name[:3] for number, name in enumerate(MONTHS, 1)},
    "full": dict(enumerate(MONTHS, 1)),
    "narrow": {number: name[0] for number, name in enumerate(MONTHS, 1)},
}
WEEKDAY_NAMES: Final = {
    "short": {number: name[:3] for number, name in enumerate(WEEKDAYS, 1)},
    "full": dict(enumerate(WEEKDAYS, 1)),
    "narrow": {number: name[0] for number, name in enumerate(WEEKDAYS, 1)},
}
QUARTER_NAMES: Final = {
    "short": {1: "Q1", 2: "Q2", 3: "Q3", 4: "Q4"},
    "full": {1: "1st quarter", 2: "2nd quarter", 3: "3rd quarter", 4: "4th quarter"},
    "narrow": {1: "1", 2: "2", 3: "3", 4: "4"},
}
ERA_NAMES: Final = {
    "short": {0: "BC", 1: "AD"},
    "full": {0: "Before Christ", 1: "Anno Domini"},
    "narrow": {0: "B", 1: "A"},
}
AMPM_NAMES: Final = {"short": {0: "AM", 1: "PM"}}

#: Abbreviation to the region that it stands for when text is read.
ZONE_OF_ABBREVIATION: Final = {
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "PT": "America/Los_Angeles",
    "MST": "America/Denver",
    "MDT": "America/Denver",
    "MT": "America/Denver",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "CT": "America/Chicago",
    "EST": "America/New_York",
    "EDT": "America/New_York",
    "ET": "America/New_York",
    "AKST": "America/Juneau",
    "AKDT": "America/Juneau",
    "HST": "Pacific/Honolulu",
    "AST": "America/Halifax",
    "ADT": "America/Halifax",
    "NST": "America/St_Johns",
    "NDT": "America/St_Johns",
    "BRT": "America/Sao_Paulo",
    "ART": "America/Argentina/Buenos_Aires",
    "BST": "Europe/London",
    "IST": "Asia/Kolkata",
    "WET": "Atlantic/Canary",
    "WEST": "Atlantic/Canary",
    "CET": "Europe/Paris",
    "CEST": "Europe/Paris",
    "EET": "Europe/Bucharest",
    "EEST": "Europe/Bucharest",
    "MSK": "Europe/Moscow",
    "SAST": "Africa/Johannesburg",
    "EAT": "Africa/Nairobi",
    "CAT": "Africa/Maputo",
    "WAT": "Africa/Lagos",
    "PKT": "Asia/Karachi",
    "ICT": "Asia/Bangkok",
    "WIB": "Asia/Jakarta",
    "SGT": "Asia/Singapore",
    "HKT": "Asia/Hong_Kong",
    "JST": "Asia/Tokyo",
    "KST": "Asia/Seoul",
    "AWST": "Australia/Perth",
    "ACST": "Australia/Adelaide",
    "ACDT": "Australia/Adelaide",
    "AEST": "Australia/Sydney",
    "AEDT": "Australia/Sydney",
    "NZST": "Pacific/Auckland",
    "NZDT": "Pacific/Auckland",
}

#: Abbreviation to the full name; zones without one here show their abbreviation.
FULL_NAME_OF_ABBREVIATION: Final = {
    "UTC": "Coordinated Universal Time",
    "GMT": "Greenwich Mean Time",
    "PST": "Pacific Standard Time",
    "PDT": "Pacific Daylight Time",
    "MST": "Mountain Standard Time",
    "MDT": "Mountain Daylight Time",
    "CST": "Central Standard Time",
    "CDT": "Central Daylight Time",
    "EST": "Eastern Standard Time",
    "EDT": "Eastern Daylight Time",
    "AKST": "Alaska Standard Time",
    "AKDT": "Alaska Daylight Time",
    "HST": "Hawaii-Aleutian Standard Time",
    "AST": "Atlantic Standard Time",
    "ADT": "Atlantic Daylight Time",
    "BST": "British Summer Time",
    "IST": "India Standard Time",
    "WET": "Western European Standard Time",
    "WEST": "Western European Summer Time",
    "CET": "Central European Standard Time",
    "CEST": "Central European Summer Time",
    "EET": "Eastern European Standard Time",
    "EEST": "Eastern European Summer Time",
    "MSK": "Moscow Standard Time",
    "SAST": "South Africa Standard Time",
    "EAT": "East Africa Time",
    "CAT": "Central Africa Time",
    "JST": "Japan Standard Time",
    "KST": "Korean Standard Time",
    "HKT": "Hong Kong Standard Time",
    "AWST": "Australian Western Standard Time",
    "AEST": "Australian Eastern Standard Time",
    "AEDT": "Australian Eastern Daylight Time",
    "NZST": "New Zealand Standard Time",
    "NZDT": "New Zealand Daylight Time",
}
