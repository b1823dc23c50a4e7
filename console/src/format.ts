/** Numbers, times and counts as text. */

const NUMBER = new Intl.NumberFormat("en");

export const formatNumber = (value: number): string => NUMBER.format(value);

/** Return "1 object", "2 objects", "1,000 objects". */
export function count(value: number, singular: string, plural = `${singular}s`): string {
  return `${formatNumber(value)} ${value === 1 ? singular : plural}`;
}

/** Return the time since `then` as kubectl prints ages: 45s, 12m, 3h5m, 2d4h, 40d, 3y12d. */
export function age(then: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - then) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return joined(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return joined(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return joined(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 ? joined(years, "y", days % 365, "d") : `${years}y`;
}

function joined(large: number, unit: string, small: number, smallUnit: string): string {
  return small ? `${large}${unit}${small}${smallUnit}` : `${large}${unit}`;
}

/** Return a time such as "17 Nov 2026, 14:05:09", in the user's time zone. */
export function formatTime(value: string | number): string {
  return new Date(value).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}
