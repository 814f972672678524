/** The schema of the JSON that every contender validates. */

import { z } from "npm:zod@^4";

/** A customer with orders. */
export const CUSTOMER = z.object({
  name: z.string(),
  email: z.email(),
  tags: z.array(z.string()),
  orders: z.array(
    z.object({
      id: z.number(),
      title: z.string(),
      price: z.number(),
      paid: z.boolean(),
    }),
  ),
});
