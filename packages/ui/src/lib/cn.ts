import { type ClassValue, clsx } from 'clsx';

/** Joins class names. A className given from outside only places a part (margins, grid cells); it never restyles it. */
export function cn(...classes: ClassValue[]): string {
  return clsx(classes);
}
