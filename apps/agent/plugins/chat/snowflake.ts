import { z } from 'zod';

/** An id of the platform: digits alone, so that it cannot lead to another address. */
export const snowflake = z.string().regex(/^\d{1,20}$/, 'an id is a number');
