import { z } from 'zod';

/** Surfaces that prove who writes. Mail does not: anybody can write any sender into it. */
const approver = z
  .string()
  .regex(
    /^(chat|messenger):\S{1,200}$/,
    'the surface and the id of the user, such as chat:123456789012345678',
  );

/** `approvers.yaml`: who may approve on a surface what agents want to run, beside the operator. */
export const approversSchema = z
  .strictObject({ approvers: z.array(approver).default([]) })
  .default({ approvers: [] });
