export interface Skill {
  slug: string;
  name: string;
  description: string;
  tools?: string[];
  body: string;
  enabled: boolean;
}
