CREATE NODE TABLE `Paper` (`number` INT64,`title` STRING,`subject` STRING,`year` INT16,`open` BOOL,`seen` DATE,`tags` STRING[],`big` INT128, PRIMARY KEY(`number`));
CREATE REL TABLE `Cites` (FROM `Paper` TO `Paper`, `since` DATE,`weight` DOUBLE,MANY_MANY);
